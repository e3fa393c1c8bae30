/** `inspect`, and the inspector of `dev`: pages on loopback that only the reader of their address can use. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'
import { expect, onTestFinished, test } from 'vitest'
import { closedUrl, serveAgent } from './support/agents.js'
import { install, PROGRAM, run, temporaryFolder } from './support/program.js'

const PAGE = { headers: { 'x-a2a-inspector': '1' } }

/** Starts the program, and gives the address that it prints. */
async function start(args: readonly string[], cwd: string): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGTERM'))
  let printed = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    printed += String(chunk)
    const [url] = /http:\/\/[\w.:]+\/(inspector\/)?[\w-]{32}\//.exec(printed) ?? []
    if (url === undefined) continue
    // It may print more.
    child.stdout.resume()
    return { url, child }
  }
  throw new Error(`The program has ended: ${printed}`)
}

test('a SQLite file is shown only with the token, and only its tasks are', async () => {
  const folder = temporaryFolder()
  install(folder, 'libsql')
  const database = new Database(join(folder, 'tasks.db'))
  const tasks = await openTasks(database)
  const { id } = await tasks.createTask({ skill: 'stored', input: 'hello' })
  const { url, child } = await start(['inspect', 'tasks.db', '--json'], folder)
  const list = (await (await fetch(`${url}api/tasks`, PAGE)).json()) as { tasks: { id: string }[] }
  expect(list.tasks.map((task) => task.id)).toEqual([id])
  expect((await fetch(url)).headers.get('content-security-policy')).toContain("default-src 'none'")
  const { origin, pathname } = new URL(url)
  for (const path of ['/', '/api/tasks', pathname.toUpperCase(), `${pathname.slice(0, -2)}/api/tasks`]) {
    expect((await fetch(origin + path, PAGE)).status, path).toBe(401)
  }
  const headers = { ...PAGE.headers, 'content-type': 'application/json' }
  await fetch(`${url}api/tasks/${id}/cancel`, { method: 'POST', headers, body: '{}' })
  expect(await tasks.stateOf(id)).toBe('canceled')
  await fetch(`${url}api/tasks/${id}/delete`, { method: 'POST', headers, body: '{}' })
  expect(await tasks.stateOf(id)).toBeNull()
  await tasks.destroy()
  database.close()
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([130, null])
})

test('an archive is shown with its logs, and nothing of it is changed', async () => {
  const folder = temporaryFolder()
  const tasks = new DurableTaskManager({ store: memoryStore() })
  const { id } = await tasks.createTask({ skill: 'stored' })
  await tasks.cancelTask(id)
  const write = (line: string): void => appendFileSync(join(folder, 'old.jsonl'), line)
  await expect.poll(() => tasks.archive({ olderThanMs: 0, write })).toBe(1)
  await tasks.destroy()
  const { url } = await start(['inspect', 'old.jsonl', '--json'], folder)
  const read = async (path: string): Promise<unknown> => (await fetch(`${url}api/${path}`, PAGE)).json()
  expect(await read('tasks')).toMatchObject({ tasks: [{ id, state: 'canceled' }] })
  expect(JSON.stringify(await read(`tasks/${id}/events`))).toContain('"created"')
  const headers = { ...PAGE.headers, 'content-type': 'application/json' }
  const { status } = await fetch(`${url}api/tasks/${id}/delete`, { method: 'POST', headers, body: '{}' })
  expect(status).toBe(403)
})

test('an agent that lists no tasks is reported when the page starts', async () => {
  const agent = await serveAgent({ isShared: false })
  const child = spawn(process.execPath, [PROGRAM, 'inspect', agent], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGTERM'))
  const [warning] = (await once(child.stderr, 'data')) as [Buffer]
  expect(String(warning)).toMatch(
    /^The agent lists the tasks of one conversation only: .+ `anonymous: 'shared'`/,
  )
  const [printed] = (await once(child.stdout, 'data')) as [Buffer]
  expect(String(printed)).toMatch(/^The inspector is at http/)
})

test('the tasks of an agent are shown, and with --read-only none is changed', async () => {
  const agent = await serveAgent()
  const { stdout } = await run(['send', agent, 'wait', '--no-wait', '--json'])
  const { task } = JSON.parse(stdout) as { task: { id: string } }
  const { url } = await start(['inspect', agent, '--read-only'], temporaryFolder())
  const list = (await (await fetch(`${url}api/tasks`, PAGE)).json()) as { tasks: { id: string }[] }
  expect(list.tasks.map(({ id }) => id)).toEqual([task.id])
  const headers = { ...PAGE.headers, 'content-type': 'application/json' }
  const { status } = await fetch(`${url}api/tasks/${task.id}/cancel`, { method: 'POST', headers, body: '{}' })
  expect(status).toBe(403)
})

test('dev serves an inspector beside the agent', async () => {
  const folder = temporaryFolder()
  install(folder)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'agent.js'), 'export default (run) => `said ${run.text}`')
  const { port } = new URL(await closedUrl())
  const { url } = await start(['dev', 'agent.js', '--port', port, '--once'], folder)
  const headers = { ...PAGE.headers, 'content-type': 'application/json' }
  const sent = await fetch(`${url}api/messages`, { method: 'POST', headers, body: '{"text":"hi"}' })
  expect(await sent.json()).toEqual({ taskId: expect.any(String) as unknown })
  expect((await fetch(`http://localhost:${port}/inspector/x/api/tasks`, PAGE)).status).toBe(401)
  expect((await fetch(`http://localhost:${port}/.well-known/agent-card.json`)).status).toBe(200)
})

test('in the inspector of dev, an agent with users gets messages from the user "local"', async () => {
  const folder = temporaryFolder()
  install(folder)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const card = "{ name: 'Private', url: 'http://localhost:3000' }"
  writeFileSync(
    join(folder, 'agent.js'),
    `export default { card: ${card}, authenticate: () => null, execute: (run) => \`for \${run.principal.id}\` }`,
  )
  const { port } = new URL(await closedUrl())
  const { url } = await start(['dev', 'agent.js', '--port', port, '--once'], folder)
  const headers = { ...PAGE.headers, 'content-type': 'application/json' }
  const sent = await fetch(`${url}api/messages`, { method: 'POST', headers, body: '{"text":"hi"}' })
  const { taskId } = (await sent.json()) as { taskId: string }
  const read = async (path: string): Promise<unknown> => (await fetch(`${url}api/${path}`, PAGE)).json()
  await expect
    .poll(() => read(`tasks/${taskId}`))
    .toMatchObject({ task: { owner: 'local', artifacts: [{ parts: [{ text: 'for local' }] }] } })
  expect(await read('session')).toMatchObject({ sender: 'local' })
  expect(JSON.stringify(await read('session'))).not.toContain('"owner"')
})

test.each([
  ['a file that does not exist', ['none.db'], 2, /no file "none\.db"/],
  ['a file that is no store', ['text.db'], 3, /cannot be read/],
  ['an archive with a schema', ['text.jsonl', '--schema', 'a'], 2, /--schema is not for an archive/],
  ['an archive that does not exist', ['none.jsonl'], 2, /no file "none\.jsonl"/],
  ['a file that is no archive', ['text.jsonl'], 2, /text\.jsonl is no archive of tasks: lines\[0\]/],
  ['a server that is not there', ['postgres://me:hunter22@127.0.0.1:9/x'], 3, /ECONNREFUSED/],
  ['an agent that is not there', ['http://127.0.0.1:9'], 3, /cannot be reached/],
  ['a store of no kind', ['mysql://x'], 2, /no store for mysql/],
])('%s is refused', async (_, args, code, text) => {
  const folder = temporaryFolder()
  install(folder, 'libsql', 'pg')
  writeFileSync(
    join(folder, 'text.db'),
    'This is no database, and has more than one hundred characters. '.repeat(4),
  )
  writeFileSync(join(folder, 'text.jsonl'), 'This is no archive.')
  const ended = await run(['inspect', ...args], { cwd: folder })
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({
    code,
    stderr: expect.stringMatching(text) as unknown,
  })
  expect(ended.stderr).not.toContain('hunter22')
  expect(existsSync(join(folder, 'none.db'))).toBe(false)
})
