-- Members, what they write, and who follows whom. Times are UTC.

create table members (
    id integer primary key,
    created_at text not null,
    username text not null unique,          -- small letters, digits and _; in addresses
    name text not null,
    email text not null unique,             -- small letters; shown to nobody else
    password text not null,                 -- argon2id, with its parameters and salt
    about text not null default '',
    check (length(username) between 3 and 30),
    check (length(name) between 1 and 50)
);

create table posts (
    id integer primary key,
    created_at text not null,
    edited_at text,
    author integer not null references members (id) on delete cascade,
    parent integer references posts (id) on delete cascade,  -- the post that it replies to
    body text not null,
    check (length(body) between 1 and 2000)
);
create index posts_of_author on posts (author, parent, id);
create index posts_of_parent on posts (parent, id);

create table likes (
    member integer not null references members (id) on delete cascade,
    post integer not null references posts (id) on delete cascade,
    created_at text not null,
    primary key (member, post)
) without rowid;
create index likes_of_post on likes (post);

create table follows (
    follower integer not null references members (id) on delete cascade,
    followee integer not null references members (id) on delete cascade,
    created_at text not null,
    primary key (follower, followee),
    check (follower <> followee)
) without rowid;
create index followers_of on follows (followee, follower);

create table blocks (
    blocker integer not null references members (id) on delete cascade,
    blocked integer not null references members (id) on delete cascade,
    created_at text not null,
    primary key (blocker, blocked),
    check (blocker <> blocked)
) without rowid;
create index blockers_of on blocks (blocked, blocker);

create table tags (
    tag text not null,                      -- without #, small letters
    post integer not null references posts (id) on delete cascade,
    primary key (tag, post)
) without rowid;
create index tags_of_post on tags (post);

create table notifications (
    id integer primary key,
    created_at text not null,
    member integer not null references members (id) on delete cascade,
    kind text not null check (kind in ('like', 'reply', 'mention', 'follow')),
    actor integer not null references members (id) on delete cascade,
    post integer references posts (id) on delete cascade,
    seen integer not null default 0
);
create index notifications_of_member on notifications (member, id);
create unique index notifications_once on notifications (member, kind, actor, post);

create table reports (
    id integer primary key,
    created_at text not null,
    reporter integer not null references members (id) on delete cascade,
    post integer not null references posts (id) on delete cascade,
    reason text not null,
    unique (reporter, post)
);

-- What the server remembers of a browser. The id is the hash of what the browser has.
create table sessions (
    id text primary key,
    expires_at integer not null,            -- seconds since 1970
    data text not null
) without rowid;
create index sessions_by_end on sessions (expires_at);

-- Where a member is logged in. A session names its log-in, which ends when its row goes.
create table logins (
    id text primary key,
    member integer not null references members (id) on delete cascade,
    created_at text not null,
    agent text not null
) without rowid;
create index logins_of_member on logins (member);

-- Words of every language, Chinese too: the index is by runs of three characters, and shorter
-- words are looked for one post after another.
create virtual table post_words using fts5 (body, content = 'posts', content_rowid = 'id',
                                            tokenize = 'trigram');
create trigger posts_inserted after insert on posts begin
    insert into post_words (rowid, body) values (new.id, new.body);
end;
create trigger posts_deleted after delete on posts begin
    insert into post_words (post_words, rowid, body) values ('delete', old.id, old.body);
end;
create trigger posts_edited after update of body on posts begin
    insert into post_words (post_words, rowid, body) values ('delete', old.id, old.body);
    insert into post_words (rowid, body) values (new.id, new.body);
end;
