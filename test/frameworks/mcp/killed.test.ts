/** Calls whose process is killed: over a file with the process that is started again, and over PostgreSQL with another replica. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { messagesIn, requestOf, statelessRequest } from '../../mcp/kit.js'
import { Stream } from '../../mcp/stream.js'
import { bundledProgram } from '../../support/bundled-program.js'
import { freePort } from '../../support/free-port.js'
import { hasPostgresServer, skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { describeWith } from '../installed.js'
import { taskSession, textOf, type Address, type Json } from './kit.js'
import type { Fate } from './killed-server.js'

const CLIENT = { tasks: true, elicitation: { form: {} } }
const CALL = { name: 'default', arguments: { message: 'Trip' } }

interface Replica extends Address {
  /** Resolves when it hangs. */
  readonly hangs: Promise<unknown>
  /** Resolves when it is gone. */
  readonly gone: Promise<unknown>
  /** Lets it go on. */
  readonly goOn: () => void
  readonly kill: () => Promise<unknown>
  readonly request: (method: string, params: object) => Promise<Response>
  readonly ask: (method: string, params: object) => Promise<Json>
}

/** A process with these arguments. */
async function start(...args: readonly string[]): Promise<Replica> {
  const program = await bundledProgram('test/frameworks/mcp/killed-server.ts')
  const child = fork(program, [...args], { execArgv: [] })
  const gone = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said] = (await Promise.race([once(child, 'message'), gone])) as unknown[]
  const url = new URL(String(said))
  const request = async (method: string, params: object): Promise<Response> => {
    const { headers, body } = statelessRequest(1, method, params, CLIENT)
    return await fetch(url, { method: 'POST', headers, body, duplex: 'half' })
  }
  return {
    ...{ url, gone, request, hangs: once(child, 'message') },
    goOn: () => void child.send('go on'),
    kill: () => {
      child.kill('SIGKILL')
      return gone
    },
    ask: async (method, params) =>
      ((await (await request(method, params)).json()) as { readonly result: Json }).result,
  }
}

interface Scene {
  /** The process that gets the call. */
  readonly first: (fate: Fate) => Promise<Replica>
  /** The process that serves when it is killed. */
  readonly next: () => Promise<Replica>
  /** The steps that were done, by all processes. */
  readonly done: () => string[]
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'a2a-mcp-killed-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  writeFileSync(join(path, 'done'), '')
  return path
}

const doneIn = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')

/** One process over a file. It is started again at its port. */
async function overSqlite(next: Fate): Promise<Scene> {
  const path = folder()
  const file = join(path, 'done')
  const port = String(await freePort())
  const begin = (fate: Fate): Promise<Replica> => start('sqlite', join(path, 'tasks.db'), port, file, fate)
  return { first: begin, next: () => begin(next), done: () => doneIn(file) }
}

/** Two replicas over one database, both there from the beginning. */
async function overPostgres(next: Fate): Promise<Scene> {
  const file = join(folder(), 'done')
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const begin = (fate: Fate): Promise<Replica> => start('postgres', server.url, '0', file, fate)
  const other = await begin(next)
  return { first: begin, next: () => Promise.resolve(other), done: () => doneIn(file) }
}

const accepted = (answer: string): object => ({ action: 'accept', content: { answer } })

/** The key of the question that the task asks. */
async function keyOf(replica: Replica, taskId: string, question: string): Promise<string> {
  let seen: Json = {}
  const read = async (): Promise<unknown> =>
    (seen = await replica.ask('tasks/get', { taskId }))['statusMessage']
  await expect.poll(read).toBe(question)
  const [key = ''] = Object.keys(seen['inputRequests'] as Json)
  return key
}

/** Answers the question, once it is asked. */
async function answer(replica: Replica, taskId: string, question: string, text: string): Promise<Json> {
  const key = await keyOf(replica, taskId, question)
  return await replica.ask('tasks/update', { taskId, inputResponses: { [key]: accepted(text) } })
}

async function resultAt(replica: Replica, taskId: string): Promise<Json> {
  let seen: Json = {}
  const read = async (): Promise<unknown> => (seen = await replica.ask('tasks/get', { taskId }))['status']
  await expect.poll(read).toBe('completed')
  return seen['result'] as Json
}

describeWith('@modelcontextprotocol/ext-tasks', () => {
  const rows = [
    ['SQLite, started again', overSqlite],
    ['PostgreSQL, at the other replica', overPostgres],
  ] as const
  test('PostgreSQL is installed', (context) => skipWithoutPostgres(context))
  const able = rows.filter(([, scene]) => scene !== overPostgres || hasPostgresServer())

  describe.each(able)('over %s', (_, scene) => {
    it('a call that was killed in a step has its id, its progress and its result', async () => {
      const { first, next, done } = await scene('hangs')
      const killed = await first('hangs')
      const execution = await (await taskSession(killed)).callTool('default', CALL.arguments)
      const taskId = execution.handle?.taskId ?? ''
      const reference = execution.serializeReference()
      await answer(killed, taskId, 'Which city?', 'Rome')
      await answer(killed, taskId, 'Which seat?', '7A')
      await killed.hangs
      const before = await killed.ask('tasks/get', { taskId })
      expect(before).toMatchObject({ status: 'working', statusMessage: 'Booking Rome' })
      await killed.kill()

      const other = await next()
      const { createdAt } = before
      const seen = await other.ask('tasks/get', { taskId })
      expect(seen).toMatchObject({ taskId, createdAt, statusMessage: 'Booking Rome' })
      const followed = await other.request('subscriptions/listen', { notifications: { taskIds: [taskId] } })
      const session = await taskSession(other)
      const resumed = await session.resumeTask(reference)
      expect(resumed.handle?.taskId).toBe(taskId)
      await other.hangs
      expect(done()).toEqual(['look'])
      other.goOn()
      const { outcome } = await resumed.settle()
      expect(textOf(session.resultOf(outcome))).toBe('Rome, 7A')
      expect(messagesIn(await followed.text()).at(-2)).toMatchObject({
        method: 'notifications/tasks',
        params: { taskId, status: 'completed', result: { content: [{ text: 'Rome, 7A' }] } },
      })
      expect(done()).toEqual(['look', 'book'])
    })

    it('an answer that was taken right before is kept', async () => {
      const { first, next, done } = await scene('lives')
      const killed = await first('hangs')
      const { taskId } = await killed.ask('tools/call', CALL)
      await answer(killed, String(taskId), 'Which city?', 'Rome')
      await answer(killed, String(taskId), 'Which seat?', '7A')
      await killed.kill()
      const other = await next()
      expect(textOf(await resultAt(other, String(taskId)))).toBe('Rome, 7A')
      expect(done()).toEqual(['look', 'book'])
    })

    it('a stream of 2025-11-25 goes on at another process, by the id of its last event', async () => {
      const { first, next, done } = await scene('lives')
      const killed = await first('lives')
      const version = { 'mcp-protocol-version': '2025-11-25' }
      const post = async (at: Replica, body: object, headers: object): Promise<Response> => {
        const request = requestOf({ jsonrpc: '2.0', ...body }, { ...version, ...headers })
        return await fetch(at.url, {
          method: 'POST',
          headers: request.headers,
          body: request.body,
          duplex: 'half',
        })
      }
      const params = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } }
      const begun = await post(killed, { id: 1, method: 'initialize', params }, {})
      const session = { ...version, 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
      const respond = (at: Replica, id: unknown, text: string): Promise<Response> =>
        post(at, { id, result: accepted(text) }, session)
      const stream = new Stream(await post(killed, { id: 2, method: 'tools/call', params: CALL }, session))
      const city = await stream.message()
      await respond(killed, city.message?.['id'], 'Rome')
      const seat = await stream.message()
      expect(seat.message).toMatchObject({ method: 'elicitation/create', params: { message: 'Which seat?' } })
      await killed.kill()

      const other = await next()
      const headers = { ...session, 'last-event-id': seat.id ?? '' }
      const rest = new Stream(await fetch(other.url, { headers }))
      await respond(other, seat.message?.['id'], '7A')
      const { message } = await rest.message()
      expect(message).toMatchObject({ id: 2, result: { content: [{ text: 'Rome, 7A' }] } })
      expect(done()).toEqual(['look', 'book'])
    })

    it.each(['dies before an answer', 'dies after an answer'] as const)(
      'an answer without a response, sent again, counts once: the process %s',
      async (fate) => {
        const { first, next, done } = await scene('lives')
        const killed = await first(fate)
        const taskId = String((await killed.ask('tools/call', CALL))['taskId'])
        const key = await keyOf(killed, taskId, 'Which city?')
        const params = { taskId, inputResponses: { [key]: accepted('Rome') } }
        await expect(killed.ask('tasks/update', params)).rejects.toThrow()
        await killed.gone
        const other = await next()
        for (let count = 0; count < 2; count += 1)
          expect(await other.ask('tasks/update', params)).toMatchObject({ resultType: 'complete' })
        await answer(other, taskId, 'Which seat?', '7A')
        expect(textOf(await resultAt(other, taskId))).toBe('Rome, 7A')
        expect(done()).toEqual(['look', 'book'])
      },
    )
  })
})
