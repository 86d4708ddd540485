import { PGlite } from '@electric-sql/pglite'
const pg = await PGlite.create(process.argv[2])
await pg.query('set enable_bitmapscan = off')
const q = (cond='w.owner = l.owner') => `explain select sid from instep_log l cross join lateral (select (
    select 1 from instep_log w where w.t = l.t and w.id = l.id and ${cond} and w.sid > l.sid
      and w.sid <= 40000 and w.frame->>'op' <> 'u' limit 1
  ) is null as is_current) c where owner = 'ann' and sid > 20000 and sid <= 40000 and (is_current or tx is not null) order by sid limit 500`
const show = async (title, s) => { console.log(title); for (const r of (await pg.query(s)).rows) console.log('   ', r['QUERY PLAN']) }
console.log((await pg.query("select relname, reltuples, relpages, pg_relation_size(oid)/8192 as pages from pg_class where relname like 'instep_log%' or relname like 'instep_rec%'")).rows)
await show('now', q())
await pg.query('analyze instep_log'); await show('analyzed', q())
await show('analyzed, no owner', q("w.owner || '' = l.owner"))
await pg.close()
