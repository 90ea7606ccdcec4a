-- How many likes and replies a post has, in its own row, because a page shows both for each post.
-- Triggers keep the counts: they also run for rows that a deleted member or post takes along (on
-- delete cascade), and for nodes of an older version. No statement moves a like or a reply to
-- another post.
alter table posts add column like_count integer not null default 0;
alter table posts add column reply_count integer not null default 0;
update posts set like_count = (select count(*) from likes l where l.post = posts.id),
                 reply_count = (select count(*) from posts r where r.parent = posts.id);

create trigger like_added after insert on likes begin
    update posts set like_count = like_count + 1 where id = new.post;
end;
create trigger like_removed after delete on likes begin
    update posts set like_count = like_count - 1 where id = old.post;
end;
create trigger reply_added after insert on posts when new.parent is not null begin
    update posts set reply_count = reply_count + 1 where id = new.parent;
end;
create trigger reply_removed after delete on posts when old.parent is not null begin
    update posts set reply_count = reply_count - 1 where id = old.parent;
end;

-- Each page of a member shows how many notices are new, and reads only those to count them.
create index notifications_unseen on notifications (member, seen);
