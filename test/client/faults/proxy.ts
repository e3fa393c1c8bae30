/** A proxy on the loopback that breaks connections as networks do, by a seed. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Random } from './random.js'
import { ResponseRewriter, toChunk } from './responses.js'

/** One fault of a connection. */
export const FAULTS = [
  ...['cut request', 'cut response', 'stall request', 'stall response', 'refuse', 'drop response'],
  ...['answer instead of the agent', 'answer after the agent', 'duplicate', 'reorder', 'truncate'],
] as const

export type Fault = (typeof FAULTS)[number]

export interface Mischief {
  readonly seed: number
  /** How many faults there are at most; then the proxy is honest. */
  readonly budget: number
  /** Default is all. */
  readonly faults?: readonly Fault[] | undefined
  /** Called when bytes are held back for ever: the time for time limits to be over. */
  readonly onStall: () => void
}

const AT_ONCE = ['502 Bad Gateway', '503 Service Unavailable', '429 Too Many Requests', '503 Wait'] as const
const TOO_LATE = ['502 Bad Gateway', '503 Service Unavailable', '504 Gateway Timeout'] as const

export class Proxy {
  #random = new Random(0)
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #target: number
  readonly counts = new Map<Fault, number>()
  #budget = 0
  #faults: readonly Fault[] = FAULTS
  #onStall = (): void => undefined
  #port = 0
  #isClosed = false

  /** Without faults, until a test sets some. */
  constructor(target: number) {
    this.#target = target
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket))
    // Another process may hold the port for a moment.
    this.#server.on('error', () => setTimeout(() => this.#listenAgain(), 1))
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** From now on; connections that are open are closed. */
  begin({ seed, budget, faults = FAULTS, onStall }: Mischief): void {
    this.#faults = faults
    this.#onStall = onStall
    this.#random = new Random(seed)
    this.#budget = budget
    for (const socket of this.#sockets) socket.destroy()
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
    return this
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #accept(client: Socket): void {
    this.#track(client)
    const fault = this.#draw()
    if (fault === 'refuse') {
      this.#count(fault)
      client.resetAndDestroy()
      this.#refuse(this.#random.between(2, 15))
      return
    }
    if (fault === 'answer instead of the agent') {
      this.#answer(client, this.#random.pick(AT_ONCE), fault)
      return
    }
    const agent = this.#track(connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true }))
    // Whatever one side leaves, the other is left by: what was held back is gone.
    client.on('close', () => agent.destroy())
    agent.on('close', () => {
      if (fault !== 'stall response') client.destroySoon()
    })
    // A closing handshake means that the client has lost interest.
    client.on('end', () => client.destroy())
    this.#pipeRequest(client, agent, fault)
    this.#pipeResponse(client, agent, fault)
  }

  #draw(): Fault | undefined {
    // The dice fall in the same order, however much is left.
    const isBad = this.#random.chance(0.9)
    const fault = this.#random.pick(this.#faults)
    if (!isBad || this.#budget === 0) return undefined
    this.#budget -= 1
    return fault
  }

  #count(fault: Fault): void {
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1)
  }

  #pipeRequest(client: Socket, agent: Socket, fault: Fault | undefined): void {
    const limit =
      fault === 'cut request' || fault === 'stall request' ? this.#random.between(0, 900) : Infinity
    const isReset = this.#random.chance(0.5)
    let sent = 0
    client.on('data', (bytes) => {
      if (sent > limit) return
      const passed = bytes.subarray(0, Math.max(0, limit - sent))
      if (passed.length > 0) agent.write(passed)
      sent += bytes.length
      if (sent <= limit || fault === undefined) return
      this.#count(fault)
      if (fault === 'stall request') this.#stall(client)
      if (fault === 'cut request') {
        this.#cut(agent, isReset)
        this.#cut(client, isReset)
      }
    })
  }

  #pipeResponse(client: Socket, agent: Socket, fault: Fault | undefined): void {
    if (fault === 'duplicate' || fault === 'reorder' || fault === 'truncate') {
      this.#pipeRewritten(client, agent, fault)
      return
    }
    const mayCut = fault === 'cut response' || fault === 'stall response'
    const limit = mayCut ? this.#random.between(0, this.#random.pick([300, 3000])) : Infinity
    const isReset = this.#random.chance(0.5)
    const status = this.#random.pick(TOO_LATE)
    let got = 0
    agent.on('end', () => {
      if (fault !== 'stall response') client.end()
    })
    agent.on('data', (bytes) => {
      if (got > limit || client.destroyed) return
      if (fault === 'drop response') {
        this.#count(fault)
        this.#cut(client, isReset)
      } else if (fault === 'answer after the agent') {
        agent.destroy()
        this.#reply(client, status, fault)
      } else {
        client.write(bytes.subarray(0, Math.max(0, limit - got)))
        got += bytes.length
        if (got <= limit || fault === undefined) return
        this.#count(fault)
        if (fault === 'cut response') this.#cut(client, isReset)
        else this.#stall(client)
      }
    })
  }

  #pipeRewritten(client: Socket, agent: Socket, fault: 'duplicate' | 'reorder' | 'truncate'): void {
    let held: string | undefined
    const events = (given: string[]): string[] | undefined => {
      if (fault === 'truncate') {
        if (!this.#random.chance(0.3)) return given
        this.#count(fault)
        return undefined
      }
      return given.flatMap((event) => {
        if (held !== undefined) {
          const [before, after] = [event, held]
          held = undefined
          return [before, after]
        }
        if (!this.#random.chance(0.3)) return [event]
        this.#count(fault)
        if (fault === 'duplicate') return [event, event]
        held = event
        // Neighbours change places; where none comes, it was no more than late.
        setTimeout(() => {
          if (held === event && !client.destroyed) client.write(toChunk(event), 'latin1')
          if (held === event) held = undefined
        }, 10)
        return []
      })
    }
    let hasTruncated = false
    const body = (given: string): string => {
      if (fault !== 'truncate' || hasTruncated) return given
      hasTruncated = true
      this.#count(fault)
      return given.slice(0, Math.floor(given.length * this.#random.next()))
    }
    const rewriter = new ResponseRewriter({ events, body })
    agent.on('data', (bytes) => {
      if (client.destroyed || rewriter.hasEnded()) return
      client.write(rewriter.feed(bytes), 'latin1')
      if (rewriter.hasEnded()) client.end()
    })
    agent.on('end', () => client.end())
  }

  /** Once the request has come, and before the agent gets it. */
  #answer(client: Socket, status: string, fault: Fault): void {
    client.once('data', () => this.#reply(client, status, fault))
  }

  #reply(client: Socket, status: string, fault: Fault): void {
    this.#count(fault)
    const mayWait = status.startsWith('429') || status === '503 Wait'
    const more = mayWait ? 'retry-after: 0\r\n' : ''
    client.end(`HTTP/1.1 ${status}\r\n${more}content-length: 4\r\nconnection: close\r\n\r\nbusy`)
  }

  /** As long as the client waits: what it waits for may begin a moment later. */
  #stall(client: Socket): void {
    const onStall = this.#onStall
    const again = (): void => {
      if (client.destroyed || this.#onStall !== onStall) return
      onStall()
      setTimeout(again, 2)
    }
    setTimeout(again, 2)
  }

  #cut(socket: Socket, isReset: boolean): void {
    if (isReset) socket.resetAndDestroy()
    else socket.end(() => socket.destroySoon())
  }

  #refuse(ms: number): void {
    this.#server.close()
    setTimeout(() => this.#listenAgain(), ms)
  }

  #listenAgain(): void {
    if (this.#isClosed || this.#server.listening) return
    this.#server.listen(this.#port, '127.0.0.1')
  }

  #track(socket: Socket): Socket {
    this.#sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#sockets.delete(socket))
    return socket
  }
}
