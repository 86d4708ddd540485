import type { BroadcastChannelConstructor, BroadcastChannelLike } from '../base/environment.ts'

interface Member {
  readonly name: string
  readonly hear: (data: unknown) => void
}

export interface VirtualChannelsOptions {
  /**
   * Called for each message and each page that receives it. `deliver` delivers the message, and may be called later,
   * again, or never. `message`: its content.
   */
  readonly carry?: (deliver: () => void, message: unknown) => void
}

/** The channels among the pages of one origin on a device, as a browser has them (HTML standard, section 9.5). */
export class VirtualChannels {
  readonly #members = new Set<Member>()
  readonly #carry: (deliver: () => void, message: unknown) => void

  constructor({ carry = (deliver) => void Promise.resolve().then(deliver) }: VirtualChannelsOptions = {}) {
    this.#carry = carry
  }

  /** The constructor for one page. `crash` closes all channels of the page. */
  page(): BroadcastChannelConstructor & { readonly crash: () => void } {
    const own = new Set<Member>()
    let isGone = false
    const members = this.#members
    const carry = this.#carry
    class Channel implements BroadcastChannelLike {
      onmessage: BroadcastChannelLike['onmessage'] = null
      readonly #member: Member

      constructor(name: string) {
        this.#member = { name, hear: (data) => this.onmessage?.({ data }) }
        members.add(this.#member)
        own.add(this.#member)
      }

      postMessage(message: unknown): void {
        if (isGone) return
        if (!members.has(this.#member)) throw new DOMException('The channel is closed.', 'InvalidStateError')
        for (const member of members) {
          if (member === this.#member || member.name !== this.#member.name) continue
          const data = structuredClone(message)
          carry(() => members.has(member) && member.hear(data), data)
        }
      }

      close(): void {
        members.delete(this.#member)
      }
    }
    return Object.assign(Channel, {
      crash: () => {
        isGone = true
        for (const member of own) members.delete(member)
      },
    })
  }
}
