/** Replicas that come and go, behind a round-robin. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = new URL('../../../', import.meta.url)

/** One file, so that a process is there soon after the last one was killed. Where what is native can be found. */
async function bundle(): Promise<string> {
  const folder = fileURLToPath(new URL('node_modules/.cache/a2a-tasks-replicas/', ROOT))
  await mkdir(folder, { recursive: true })
  const outfile = `${folder}replica-${process.pid}.mjs`
  const entry = fileURLToPath(new URL('replica.ts', import.meta.url))
  await build({
    ...{ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
    ...{ external: ['libsql', 'pg-native'], tsconfigRaw: '{}', logLevel: 'error' },
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)`,
    },
  })
  return outfile
}

interface Replica {
  readonly child: ChildProcess
  readonly url: string
}

export class Cluster {
  readonly #program: string
  readonly #env: Record<string, string>
  readonly #replicas: (Replica | undefined)[] = []
  readonly errors: string[] = []
  #turn = 0
  kills = 0

  private constructor(program: string, env: Record<string, string>) {
    this.#program = program
    this.#env = env
  }

  static async start(size: number, env: Record<string, string>): Promise<Cluster> {
    const cluster = new Cluster(await bundle(), env)
    await Promise.all(Array.from({ length: size }, (_, index) => cluster.#launch(index)))
    return cluster
  }

  /** The next one that is there, or will be. */
  async url(): Promise<string> {
    for (;;) {
      for (let tries = 0; tries < this.#replicas.length; tries += 1) {
        this.#turn = (this.#turn + 1) % this.#replicas.length
        const replica = this.#replicas[this.#turn]
        if (replica !== undefined) return replica.url
      }
      await delay(10)
    }
  }

  /** Ends one, by a signal or as a deployment does, and starts another in its place. */
  async replace(end: 'SIGKILL' | 'stop'): Promise<void> {
    const index = Math.floor(Math.random() * this.#replicas.length)
    const replica = this.#replicas[index]
    if (replica === undefined) return
    this.#replicas[index] = undefined
    this.kills += 1
    const gone = once(replica.child, 'exit')
    if (end === 'stop') replica.child.send(end)
    else replica.child.kill(end)
    await gone
    await this.#launch(index)
  }

  /** Ends all as a deployment does. Resolves when every process has ended by itself. */
  async stop(): Promise<void> {
    const children = this.#replicas.flatMap((replica) => replica?.child ?? [])
    this.#replicas.length = 0
    await Promise.all(
      children.map(async (child) => {
        const gone = once(child, 'exit')
        child.send('stop')
        await gone
      }),
    )
  }

  async #launch(index: number): Promise<void> {
    const child = fork(this.#program, {
      env: { ...process.env, ...this.#env },
      execArgv: [],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    child.stderr?.on('data', (chunk: Buffer) => this.errors.push(chunk.toString()))
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`A replica ended with ${String(code)}:\n${this.errors.join('')}`)
    })
    const url = await Promise.race([once(child, 'message').then(([said]) => String(said)), ended])
    ended.catch(() => undefined)
    this.#replicas[index] = { child, url }
  }
}
