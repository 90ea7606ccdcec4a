-- How many likes and replies a post has, in its own row, because a page shows both for each post.
-- Triggers keep the counts: they also run for rows that a deleted member or post takes along (on
-- delete cascade), and for nodes of an older version. No statement moves a like or a reply to
-- another post. The lock lets nothing change between the first count and the triggers.
lock table posts, likes in access exclusive mode;
alter table posts add column like_count bigint not null default 0;
alter table posts add column reply_count bigint not null default 0;
update posts set like_count = (select count(*) from likes l where l.post = posts.id),
                 reply_count = (select count(*) from posts r where r.parent = posts.id);

create function count_like() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        update posts set like_count = like_count + 1 where id = new.post;
    else
        update posts set like_count = like_count - 1 where id = old.post;
    end if;
    return null;
end $$;
create trigger like_counted after insert or delete on likes
    for each row execute function count_like();

create function count_reply() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        update posts set reply_count = reply_count + 1 where id = new.parent;
    else
        update posts set reply_count = reply_count - 1 where id = old.parent;
    end if;
    return null;
end $$;
create trigger reply_added after insert on posts
    for each row when (new.parent is not null) execute function count_reply();
create trigger reply_removed after delete on posts
    for each row when (old.parent is not null) execute function count_reply();

-- Each page of a member shows how many notices are new, and reads only those to count them.
create index notifications_unseen on notifications (member, seen);
