-- The application's own schema. Nothing in it is for Instep, except that each synced row names its team.
-- An empty line ends a statement.

create type status as enum ('open', 'closed');

-- `audience` is the owner of the rows that everybody in the company sees.
create table users (
  id serial primary key,
  name text not null,
  audience text not null default 'everyone'
);

create table teams (
  id serial primary key,
  name text not null
);

create table memberships (
  user_id int references users on delete cascade,
  team_id int references teams on delete cascade,
  primary key (user_id, team_id)
);

create table projects (
  id serial primary key,
  team_id int not null references teams on delete cascade,
  name text not null,
  unique (id, team_id)
);

-- The foreign keys of two columns keep the team of a row equal to the team of what it belongs to.
create table issues (
  id uuid primary key default gen_random_uuid(),
  team_id int not null,
  project_id int not null,
  number serial,
  title text not null constraint issues_title_check check (char_length(title) between 1 and 60),
  status status not null default 'open',
  hours numeric(6, 2) not null default 0 check (hours >= 0),
  author_id int not null references users,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- A row is kept when somebody deletes it.
  deleted_at timestamptz,
  unique (id, team_id),
  foreign key (project_id, team_id) references projects (id, team_id) on delete cascade
);

create index on issues (project_id);

create table comments (
  id uuid primary key default gen_random_uuid(),
  team_id int not null,
  issue_id uuid not null,
  text text not null check (text <> ''),
  author_id int not null references users,
  created_at timestamptz not null default now(),
  foreign key (issue_id, team_id) references issues (id, team_id) on delete cascade on update cascade
);

create index on comments (issue_id);

-- What happened, in partitions. Only the database writes it.
create table activity (
  id bigint primary key,
  team_id int not null references teams on delete cascade,
  text text not null,
  at timestamptz not null default now()
) partition by range (id);

create sequence activity_ids;

alter table activity alter id set default nextval('activity_ids');

create table activity_first partition of activity for values from (1) to (1000000);

create table activity_later partition of activity default;

create function touch() returns trigger language plpgsql as $$
begin
  new.updated_at := now();
  return new;
end $$;

create trigger touch before update on issues for each row execute function touch();

create function log_status() returns trigger language plpgsql as $$
begin
  insert into activity (team_id, text) values (new.team_id, '#' || new.number || ' is ' || new.status);
  return null;
end $$;

create trigger log_status after update on issues for each row
  when (old.status is distinct from new.status) execute function log_status();
