/**
 * A server in its own process, as the benchmarks hold it.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Build } from './build.js'
import type { Usage } from './http-child.js'

/** `floor`: the least that any server does for the same answers. */
export type Side = 'ours' | 'official' | 'floor'

const CHILD = fileURLToPath(new URL('http-child.ts', import.meta.url))

export class ServerProcess {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  static async start(side: Side, { url }: Build): Promise<ServerProcess> {
    const child = fork(CHILD, [side, new URL('server/index.js', url).href], {
      // From here, tsx and the SDK resolve. 10,000 listeners on one bus are what is measured, not what is warned of.
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      execArgv: ['--expose-gc', '--no-warnings', '--import', 'tsx'],
    })
    return new ServerProcess(child, await answerOf<number>(child))
  }

  /** After a full collection of garbage. */
  usage(): Promise<Usage> {
    this.#child.send('usage')
    return answerOf<Usage>(this.#child)
  }

  /** Nanoseconds of CPU that it has taken. */
  cpu(): Promise<number> {
    this.#child.send('cpu')
    return answerOf<number>(this.#child)
  }

  /** Nanoseconds of the longest block of its event loop since the last call. */
  block(): Promise<number> {
    this.#child.send('block')
    return answerOf<number>(this.#child)
  }

  tick(): void {
    this.#child.send('tick')
  }

  async stop(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const stopWaiting = new AbortController()
  const { signal } = stopWaiting
  const exit = once(child, 'exit', { signal }).then(() => {
    throw new Error('The server has ended')
  })
  // The one that loses the race.
  exit.catch(() => undefined)
  try {
    const [answer] = (await Promise.race([once(child, 'message', { signal }), exit])) as [T]
    return answer
  } finally {
    stopWaiting.abort()
  }
}
