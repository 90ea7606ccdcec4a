-- What each member's feed holds (timelines.h): a row for each follower of a post's author, and one
-- for the author. Posts of members with very many followers have one row in wide_posts instead.
create table timelines (
    member bigint not null references members (id) on delete cascade,
    post bigint not null references posts (id) on delete cascade,
    primary key (member, post)
);
create index timelines_of_post on timelines (post);

create table wide_posts (
    post bigint not null primary key references posts (id) on delete cascade,
    author bigint not null references members (id) on delete cascade
);
create index wide_posts_of_author on wide_posts (author, post);

insert into timelines (member, post)
select f.follower, p.id from follows f join posts p on p.author = f.followee where p.parent is null;
insert into timelines (member, post) select p.author, p.id from posts p where p.parent is null;
