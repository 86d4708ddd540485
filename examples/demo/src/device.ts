import { Cable } from './cable.ts'
import { Reader } from './reader.ts'
import { Store } from './store.ts'

/** A device: the cable to the server, and a copy of the data. A reload, or another user, creates a new copy. */
export class Device {
  /** The user who is signed in at first. */
  readonly user: string
  readonly cable: Cable
  readonly reader: Store<Reader>

  constructor(user: string) {
    this.user = user
    this.cable = new Cable(user)
    this.reader = new Store(new Reader(user, this.cable))
  }

  /** Does to one device what reloading the page does: only the data on disk is kept. */
  reload(): Promise<void> {
    return this.signIn(this.reader.get().user)
  }

  async signIn(user: string): Promise<void> {
    await this.reader.get().client.close()
    this.reader.set(new Reader(user, this.cable))
  }
}
