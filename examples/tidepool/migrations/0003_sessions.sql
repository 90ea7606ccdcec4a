-- When each log-in was last used, in seconds since 1970, and lists of followers by time.
alter table logins add column used_at bigint not null default 0;
create index followers_by_time on follows (followee, created_at, follower);
create index following_by_time on follows (follower, created_at, followee);
