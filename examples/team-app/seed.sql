-- The first rows.

insert into users (name) values ('Ada'), ('Ben');

insert into teams (name) values ('Cables'), ('Boats');

insert into memberships values (1, 1), (1, 2), (2, 2);

insert into projects (team_id, name) values (1, 'Repairs'), (2, 'Fleet'), (2, 'Buoys');

insert into issues (team_id, project_id, title, author_id) values
  (1, 1, 'Mend the cable', 1),
  (2, 2, 'Count the boats', 2),
  (2, 2, 'Paint the ferry', 1),
  (2, 3, 'Light the red buoy', 2);

insert into comments (team_id, issue_id, text, author_id)
  select team_id, id, 'Twelve so far.', 2 from issues where number = 2;
