-- Whether there are new notices for a member, and blocks between the member and anybody, in the
-- member's own row: each page asks for the first of its visitor and for the second of each post's
-- author, and reads that row anyway. Triggers keep the counts, also for nodes of an older version.
-- PostgreSQL and MariaDB have many writers, who would wait for one another at such a row.
alter table members add column unseen_count integer not null default 0;
alter table members add column block_count integer not null default 0;  -- on either side
update members set
    unseen_count = (select count(*) from notifications n where n.member = members.id and n.seen = 0),
    block_count = (select count(*) from blocks b where b.blocker = members.id)
                + (select count(*) from blocks b where b.blocked = members.id);

create trigger notice_added after insert on notifications when new.seen = 0 begin
    update members set unseen_count = unseen_count + 1 where id = new.member;
end;
create trigger notice_removed after delete on notifications when old.seen = 0 begin
    update members set unseen_count = unseen_count - 1 where id = old.member;
end;
create trigger notice_seen after update of seen on notifications begin
    update members set unseen_count = unseen_count + (new.seen = 0) - (old.seen = 0)
        where id = new.member;
end;

create trigger block_added after insert on blocks begin
    update members set block_count = block_count + 1 where id in (new.blocker, new.blocked);
end;
create trigger block_removed after delete on blocks begin
    update members set block_count = block_count - 1 where id in (old.blocker, old.blocked);
end;
