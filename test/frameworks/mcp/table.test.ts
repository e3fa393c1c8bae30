/** The tables of both protocols in the guide: each row by the official client of MCP and by a client of A2A. */
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { A2AError, type PartInput } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { Run } from 'a2a-tasks/server'
import { statelessRequest } from '../../mcp/kit.js'
import { HOLD, IN_STATE, STATES } from '../../mcp/states.js'
import { read } from '../../support/repository.js'
import { expectWarnings } from '../../support/warnings.js'
import { describeWith } from '../installed.js'
import { hostV2, serve, textOf, type Elicit, type Json, type Served } from './kit.js'

type Row = readonly [a2a: string, mcp: string]

/** The rows of this kind: their cells without the marks of code. */
function rowsOf(kind: string): Row[] {
  const [, section = ''] = read('docs/guides/mcp.md').split('## Compare both protocols')
  const rows = section.matchAll(new RegExp(`^\\| ${kind} +\\| (.*?) +\\| (.*?) +\\|$`, 'gm'))
  return [...rows].map(([, a2a = '', mcp = '']) => [codeIn(a2a), codeIn(mcp)] as const)
}

function codeIn(cell: string): string {
  return cell.replace(/^`(.*)`$/, '$1')
}

const json = (cell: string): Json => JSON.parse(cell) as Json

/** The cell is a part. */
const partIn = (cell: string): PartInput => JSON.parse(cell) as PartInput

const TASKS = { tasks: true, elicitation: { form: {}, url: {} } }

function clientOf({ handler }: Served): A2AClient {
  return new A2AClient({ card: handler.card, fetch: (url, init) => handler.fetch(new Request(url, init)) })
}

/** A request of a client with tasks, where the answer itself is what matters. */
async function ask({ url }: Served, method: string, params: object): Promise<{ status: number; json: Json }> {
  const { headers, body } = statelessRequest(1, method, params, TASKS)
  const response = await fetch(url, { method: 'POST', headers, body, duplex: 'half' })
  return { status: response.status, json: (await response.json()) as Json }
}

/** What a client fills in, and what the agent gets, by the type of its answer. */
const ANSWERS: readonly (readonly [type: string, filled: unknown, got: unknown])[] = [
  ['As JSON', '[{"n":1}]', [{ n: 1 }]],
  ['"array"', ['a'], ['a']],
  ['"integer"', 2, 2],
  ['"boolean"', false, false],
  ['email', 'ann@x.example', 'ann@x.example'],
  ['"string"', 'a', 'a'],
]

/** What an agent throws for a message. */
const REFUSALS: Readonly<Record<string, Error>> = {
  INVALID_PARAMS: new A2AError('INVALID_PARAMS', 'No', { path: 'message', reason: 'is odd' }),
  INTERNAL: new Error('A secret'),
  UNAUTHENTICATED: new A2AError('UNAUTHENTICATED', 'No', {}),
  PERMISSION_DENIED: new A2AError('PERMISSION_DENIED', 'No', {}),
  RATE_LIMITED: new A2AError('RATE_LIMITED', 'No', { retryable: true, retryAfterMs: 1_000 }),
  UNAVAILABLE: new A2AError('UNAVAILABLE', 'No', { reason: 'busy' }),
}

/** What leads to an error by a client of A2A, and by one of MCP. */
type Trial = readonly [byA2a: (client: A2AClient) => Promise<unknown>, method: string, params: object]

function trialOf(code: string, { tasks }: Served): Trial {
  if (code === 'TASK_NOT_FOUND') return [(client) => client.getTask('x'), 'tasks/get', { taskId: 'x' }]
  if (code !== 'TASK_NOT_CANCELABLE')
    return [(client) => client.send('Go'), 'tools/call', { name: 'default', arguments: { message: 'Go' } }]
  const { id } = tasks.createTask({ skill: 'default' })
  tasks.updateTask(id, { state: 'rejected' })
  return [(client) => client.cancelTask(id), 'tasks/cancel', { taskId: id }]
}

function shownIn(status: number, { error, result }: Json): string {
  if (error !== undefined) return `−${-Number((error as Json)['code'])}, with the status ${status}`
  return (result as Json)['isError'] === true ? 'a result with `isError`' : 'a result'
}

describeWith('@modelcontextprotocol/client', () => {
  describe('a state', () => {
    it('is in its table once', () => expect(STATES.map(([state]) => state)).toEqual(Object.keys(IN_STATE)))

    it.each(STATES)('%s of A2A is %s of MCP', async (state, status) => {
      const served = await serve(IN_STATE[state] ?? HOLD, { waitMs: 0 })
      // A task that nobody works on yet is submitted.
      if (state === 'submitted') served.tasks.createTask({ skill: 'default', contextId: 'c' })
      else await ask(served, 'tools/call', { name: 'default', arguments: { message: 'Go' } })
      const taskId = served.tasks.listTasks()[0]?.id ?? ''
      await served.tasks.waitFor(taskId, { until: (task) => task.state === state })
      expect(await clientOf(served).getTask(taskId)).toMatchObject({ state })
      expect((await ask(served, 'tasks/get', { taskId })).json).toMatchObject({ result: { taskId, status } })
    })
  })

  it.each(rowsOf('input'))('the input %s of A2A is %s of MCP', async (part, args) => {
    const inputSchema = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = 'data' in json(part) ? { tools: { default: { inputSchema } } } : {}
    const served = await serve(() => 'Done', tools)
    const { client } = await hostV2(served)
    await client.callTool({ name: 'default', arguments: json(args) })
    const [task] = served.tasks.listTasks()
    expect((await clientOf(served).getTask(task?.id ?? '')).messages[0]?.parts).toEqual([json(part)])
  })

  it.each(rowsOf('question'))('the question %s of A2A is %s of MCP', async (schema, properties) => {
    const question = async (run: Run): Promise<unknown> => {
      if (!schema.startsWith('{')) return (await run.requireInput('Which?')).parts[0]?.text
      return await run.requireInput('Which?', { schema: z.unknown(), jsonSchema: json(schema) })
    }
    const served = await serve(async (run) => JSON.stringify(await question(run)))
    const [name = ''] = Object.keys(json(properties))
    const [, filled, got] = ANSWERS.find(([type]) => properties.includes(type)) ?? []
    const shown: Elicit[] = []
    const { call } = await hostV2(served, (params) => {
      shown.push(params)
      return { action: 'accept', content: { [name]: filled } }
    })
    const result = textOf(await call('Go'))
    expect(shown.map(({ requestedSchema }) => requestedSchema?.properties)).toEqual([json(properties)])
    expect(JSON.parse(result)).toEqual(name === 'a' ? { a: got } : got)
  })

  it.each(rowsOf('part'))('the part %s of A2A is %s of MCP', async (part, content) => {
    const served = await serve((run) => void run.artifact({ parts: [partIn(part)] }))
    const { call } = await hostV2(served)
    const result = await call('Go')
    expect(result).toMatchObject({ content: [json(content)] })
    const { taskId } = (result['_meta'] as Record<string, Json>)['a2a-tasks.dev/task'] ?? {}
    expect((await clientOf(served).getTask(String(taskId))).artifacts[0]?.parts).toEqual([json(part)])
  })

  it.each(rowsOf('error'))('the error %s of A2A is %s of MCP', async (code, shown) => {
    const accept = (): void => {
      if (REFUSALS[code] !== undefined) throw REFUSALS[code]
    }
    const served = await serve(
      Object.assign(() => 'Done', { accept }),
      { onError: () => undefined },
    )
    if (code === 'INTERNAL') expectWarnings(/A secret/)
    const [byA2a, method, params] = trialOf(code, served)
    await expect(byA2a(clientOf(served))).rejects.toMatchObject({ code })
    const { status, json: answer } = await ask(served, method, params)
    expect(shownIn(status, answer)).toBe(shown)
    expect(JSON.stringify(answer)).not.toContain('secret')
  })

  it('the table has nothing else', () => {
    const [, section = ''] = read('docs/guides/mcp.md').split('## Compare both protocols')
    const kinds = ['input', 'question', 'part', 'error']
    expect(kinds.flatMap(rowsOf)).toHaveLength(
      section.split('\n').filter((line) => line.startsWith('| ')).length - 2,
    )
  })
})
