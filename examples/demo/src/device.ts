import { Cable } from './cable.ts'
import { Reader } from './reader.ts'
import { Store } from './store.ts'

/** A user's device: the cable to the server, and a copy of the data, which is opened anew by a reload. */
export class Device {
  readonly user: string
  readonly cable: Cable
  readonly reader: Store<Reader>

  constructor(user: string) {
    this.user = user
    this.cable = new Cable(user)
    this.reader = new Store(new Reader(user, this.cable))
  }

  /** What reloading the page does to one device: nothing is left but what is on disk. */
  async reload(): Promise<void> {
    await this.reader.get().client.close()
    this.reader.set(new Reader(this.user, this.cable))
  }
}
