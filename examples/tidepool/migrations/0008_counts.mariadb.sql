-- The other databases keep a post's counts of likes and replies in its row. Here they are counted
-- when they are read: MariaDB runs no trigger for rows that a deleted member or post takes along
-- (on delete cascade).

-- Each page of a member shows how many notices are new, and reads only those to count them.
create index notifications_unseen on notifications (member, seen);
