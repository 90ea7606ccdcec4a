-- The greatest number of a member and of a post that are gone: SQLite would give it to the next
-- one, who would then get what was meant for another (posts.h, new_id).
create table last_ids (
    name varchar(20) not null primary key,
    id bigint not null
);
create trigger members_gone after delete on members begin
    insert into last_ids (name, id) values ('members', old.id)
        on conflict (name) do update set id = max(id, excluded.id);
end;
create trigger posts_gone after delete on posts begin
    insert into last_ids (name, id) values ('posts', old.id)
        on conflict (name) do update set id = max(id, excluded.id);
end;
