/** Streams through real proxies, with the configurations of docs/operate/proxies.md. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi, type TestContext } from 'vitest'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { read } from '../../support/repository.js'
import { freePort } from '../../support/free-port.js'

interface Proxy {
  readonly name: string
  readonly packageName: string
  readonly args: (file: string) => readonly string[]
  /** The page's configuration, on another port and before another agent. */
  readonly configure: (block: string, port: number, agent: string) => string
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    packageName: 'nginx-light',
    args: (file) => ['-c', file],
    configure: (block, port, agent) => `daemon off; master_process off; error_log stderr; events {}
pid ${tmpdir()}/nginx-${port}.pid;
http {
  access_log off;
${block
  .replace('server 127.0.0.1:3000;', `server ${agent};`)
  .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
  .replaceAll(/ssl_certificate.*;/g, '')
  // A stream outlives this time by its heartbeats. With the page's the test would take a minute.
  .replace('proxy_read_timeout 60s;', 'proxy_read_timeout 1s;')}
}`,
  },
  {
    name: 'caddy',
    packageName: 'caddy',
    args: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
    configure: (block, port, agent) =>
      `{\n\tadmin off\n}\n${block
        .replace('agent.example', `http://127.0.0.1:${port}`)
        .replace('127.0.0.1:3000', agent)}`,
  },
]

function isInstalled(program: string): boolean {
  return spawnSync(program, ['version'], { stdio: 'ignore' }).error === undefined
}

/** Where `CI` is set, nothing is skipped. */
function skipWithout({ skip }: TestContext, { name, packageName }: Proxy): void {
  if (isInstalled(name)) return
  const reason = `Not installed: ${name}. Run: apt-get install ${packageName}`
  if (process.env['CI']) throw new Error(reason)
  skip(reason)
}

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** An agent that says its second word when `release` is called. */
async function startAgent() {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const handler = createRequestHandler({
    card: { name: 'Poet', url: 'http://127.0.0.1' },
    heartbeatMs: 100,
    async *execute() {
      yield 'first '
      await released
      yield 'second'
    },
  })
  const server = createServer(toNodeListener(handler.fetch))
  const port = await listen(server)
  onTestFinished(async () => {
    release()
    await handler.close()
    server.closeAllConnections()
    server.close()
  })
  return { address: `127.0.0.1:${port}`, release }
}

async function startProxy({ name, args, configure }: Proxy, agent: string): Promise<string> {
  const page = read('docs/operate/proxies.md')
  const language = name === 'caddy' ? 'caddyfile' : name
  const [, block = ''] = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'm').exec(page) ?? []
  const folder = mkdtempSync(join(tmpdir(), `${name}-`))
  const port = await freePort()
  const file = join(folder, 'config')
  writeFileSync(file, configure(block, port, agent))
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(name, args(file), { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const closed = once(child, 'close')
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  await vi.waitFor(async () => {
    if (child.exitCode !== null) throw new Error(output)
    await fetch(url)
  }, 20_000)
  return url
}

it.for(PROXIES)('$name is installed', (proxy, context) => skipWithout(context, proxy))

describe.each(PROXIES.filter(({ name }) => isInstalled(name)))('$name', (proxy) => {
  it('passes each event on at once, and keeps silent streams open', async () => {
    const agent = await startAgent()
    const url = await startProxy(proxy, agent.address)
    const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'Go' }] }
    const response = await fetch(`${url}/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip, br' },
      body: JSON.stringify({ message }),
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      // The agent continues only when the first event is here, and after more than a second of heartbeats.
      if (text.includes('first') && text.split(': \n\n').length > 12) agent.release()
    }
    expect(text).toContain('second')
    expect(text).toContain('TASK_STATE_COMPLETED')
  })

  it('passes on bodies of more than a megabyte', async () => {
    const agent = await startAgent()
    agent.release()
    const url = await startProxy(proxy, agent.address)
    const message = {
      messageId: '1',
      role: 'ROLE_USER',
      parts: [{ text: 'x'.repeat(800_000) }, { text: 'y'.repeat(800_000) }],
    }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/message:send`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ message }),
    })
    expect(response.status).toBe(200)
  })
})
