-- The number of the post that a reply answered, where that is removed: it then has no parent, and
-- is no post for feeds either. A number is never given twice, so no key refers to it.
alter table posts add column gone_parent bigint;
create index posts_of_gone on posts (gone_parent, id);
