import { onCommit } from './on-commit.ts'
import { onRefreshed } from './on-credentials.ts'
import { onData } from './on-data.ts'
import { onDisk } from './on-disk.ts'
import { fetchChanges, onFailure, onFetching } from './on-fetch.ts'
import { onPush, onSocket } from './on-push.ts'
import { onTabs } from './on-tabs.ts'
import { onWrites } from './on-writes.ts'
import type { Handlers } from './parts.ts'

export const handlers: Handlers = {
  onCommit,
  onData,
  onDisk,
  onFailure,
  onFetching,
  onPush,
  onRefreshed,
  onSocket,
  onTabs,
  onWrites,
  fetchChanges,
}
