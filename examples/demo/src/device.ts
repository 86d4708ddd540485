import { Cable } from './cable.ts'
import { Reader } from './reader.ts'
import { Store } from './store.ts'

/** A user's device: the cable to the server, and a copy of the data. A reload creates a new copy. */
export class Device {
  readonly user: string
  readonly cable: Cable
  readonly reader: Store<Reader>

  constructor(user: string) {
    this.user = user
    this.cable = new Cable(user)
    this.reader = new Store(new Reader(user, this.cable))
  }

  /** Does to one device what reloading the page does: only the data on disk is kept. */
  async reload(): Promise<void> {
    await this.reader.get().client.close()
    this.reader.set(new Reader(this.user, this.cable))
  }
}
