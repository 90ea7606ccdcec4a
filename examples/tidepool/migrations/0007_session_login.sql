-- The log-in that a session names, so that one statement finds the session and its member. The
-- session's data has it, too, and decides: a program of an older version writes only that.
alter table sessions add column login varchar(64);
