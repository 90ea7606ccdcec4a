-- Members, what they write, and who follows whom, in MariaDB. Text is compared byte by byte, as in
-- the other databases.

create table members (
    id bigint auto_increment primary key,
    created_at datetime(6) not null,
    username varchar(30) not null unique,   -- small letters, digits and _; in addresses
    name varchar(50) not null,
    email varchar(254) not null unique,     -- small letters; shown to nobody else
    password text not null,                 -- argon2id, with its parameters and salt
    about text not null default '',
    check (char_length(username) between 3 and 30),
    check (char_length(name) between 1 and 50)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

create table posts (
    id bigint auto_increment primary key,
    created_at datetime(6) not null,
    edited_at datetime(6),
    author bigint not null references members (id) on delete cascade,
    parent bigint references posts (id) on delete cascade,  -- the post that it replies to
    body text not null,
    check (char_length(body) between 1 and 2000)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index posts_of_author on posts (author, parent, id);
create index posts_of_parent on posts (parent, id);

create table likes (
    member bigint not null references members (id) on delete cascade,
    post bigint not null references posts (id) on delete cascade,
    created_at datetime(6) not null,
    primary key (member, post)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index likes_of_post on likes (post);

create table follows (
    follower bigint not null references members (id) on delete cascade,
    followee bigint not null references members (id) on delete cascade,
    created_at datetime(6) not null,
    primary key (follower, followee),
    check (follower <> followee)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index followers_of on follows (followee, follower);

create table blocks (
    blocker bigint not null references members (id) on delete cascade,
    blocked bigint not null references members (id) on delete cascade,
    created_at datetime(6) not null,
    primary key (blocker, blocked),
    check (blocker <> blocked)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index blockers_of on blocks (blocked, blocker);

create table tags (
    tag varchar(50) not null,               -- without #, small letters
    post bigint not null references posts (id) on delete cascade,
    primary key (tag, post)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index tags_of_post on tags (post);

create table notifications (
    id bigint auto_increment primary key,
    created_at datetime(6) not null,
    member bigint not null references members (id) on delete cascade,
    kind varchar(10) not null check (kind in ('like', 'reply', 'mention', 'follow')),
    actor bigint not null references members (id) on delete cascade,
    post bigint references posts (id) on delete cascade,
    seen tinyint not null default 0
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index notifications_of_member on notifications (member, id);
create unique index notifications_once on notifications (member, kind, actor, post);
create index notifications_of_actor on notifications (actor);
create index notifications_of_post on notifications (post);

create table reports (
    id bigint auto_increment primary key,
    created_at datetime(6) not null,
    reporter bigint not null references members (id) on delete cascade,
    post bigint not null references posts (id) on delete cascade,
    reason text not null,
    unique (reporter, post)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index reports_of_post on reports (post);

-- What the server remembers of a browser. The id is the hash of what the browser has.
create table sessions (
    id varchar(100) primary key,
    expires_at bigint not null,             -- seconds since 1970
    data mediumtext not null
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index sessions_by_end on sessions (expires_at);

-- Where a member is logged in. A session names its log-in, which ends when its row goes.
create table logins (
    id varchar(100) primary key,
    member bigint not null references members (id) on delete cascade,
    created_at datetime(6) not null,
    agent text not null
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create index logins_of_member on logins (member);

-- Words of every language, Chinese too: `grams` has each pair of neighbouring characters
-- (post_text.h), which narrows a search down, and `folded` the text in small letters.
create table post_words (
    post bigint primary key references posts (id) on delete cascade,
    folded text not null,
    grams mediumtext not null,
    fulltext (grams)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
