-- Only SQLite needs it: here a number is never given twice.
create table last_ids (
    name varchar(20) not null primary key,
    id bigint not null
);
