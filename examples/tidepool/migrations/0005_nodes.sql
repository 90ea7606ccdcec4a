-- For programs that share a database. A form that is sent again, because its answer was lost, finds
-- the post that it made; the rate limits of several programs are one (limits.h). And members whom
-- a member does not want to read, without their knowing it.
alter table posts add column form varchar(64);
create unique index posts_of_form on posts (author, form);

create table rates (
    id varchar(100) not null primary key,
    next bigint not null                    -- milliseconds since 1970
);

create table mutes (
    muter bigint not null references members (id) on delete cascade,
    muted bigint not null references members (id) on delete cascade,
    primary key (muter, muted)
);
create index muters_of on mutes (muted, muter);
