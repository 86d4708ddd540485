// Which tables are synced, and whose rows they are. For `instep attach` and for the service.
const owner = { column: 'team_id', prefix: 'team:' }

export default {
  database: process.env.DATABASE_URL ?? './data',
  ownerField: 'owner',
  tables: {
    User: { table: 'users', id: 'id', owner: 'audience', fields: ['name'] },
    Team: { table: 'teams', id: 'id', owner: { column: 'id', prefix: 'team:' }, fields: ['name'] },
    Project: { table: 'projects', id: 'id', owner, fields: ['name'] },
    Issue: {
      table: 'issues',
      id: 'id',
      owner,
      where: 'deleted_at is null',
      fields: [
        'number',
        'title',
        'status',
        { hours: { column: 'hours', as: 'number' } },
        { projectId: 'project_id' },
        { authorId: 'author_id' },
        { createdAt: 'created_at' },
        { updatedAt: 'updated_at' },
      ],
    },
    Comment: {
      table: 'comments',
      id: 'id',
      owner,
      fields: ['text', { issueId: 'issue_id' }, { authorId: 'author_id' }, { createdAt: 'created_at' }],
    },
    Activity: { table: 'activity', id: 'id', owner, fields: ['text', 'at'] },
  },
}
