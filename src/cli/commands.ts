import type { Command } from './command.ts'
import { attach } from './commands/attach.ts'
import { check } from './commands/check.ts'
import { conformance } from './commands/conformance.ts'
import { deleteRecords } from './commands/delete.ts'
import { demo } from './commands/demo.ts'
import { detach } from './commands/detach.ts'
import { epoch } from './commands/epoch.ts'
import { get } from './commands/get.ts'
import { importRecords } from './commands/import.ts'
import { list } from './commands/list.ts'
import { serveHttp } from './commands/serve.ts'
import { status } from './commands/status.ts'
import { token } from './commands/token.ts'

export const commands: readonly Command[] = [
  serveHttp,
  token,
  importRecords,
  status,
  get,
  list,
  deleteRecords,
  epoch,
  attach,
  detach,
  check,
  conformance,
  demo,
]
