-- A picture in a post, and the face of a member: names of files (pictures.h). A reply below
-- depth_max (posts.h) stands beside what it answers, so that no deletion cascades deeper.
alter table posts add column depth integer not null default 0;
alter table posts add column picture varchar(80);
alter table posts add column picture_alt varchar(300) not null default '';
alter table posts add column picture_width integer not null default 0;
alter table posts add column picture_height integer not null default 0;
alter table members add column face varchar(80);
