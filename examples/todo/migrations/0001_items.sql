create table item (
    id integer primary key autoincrement,
    user text not null,
    text text not null,
    done boolean not null default false
);
create index item_of_user on item (user, id);
