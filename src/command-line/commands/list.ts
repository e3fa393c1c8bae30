/**
 * `list`: the tasks of an agent that the caller may see.
 *
 * @module
 */
import { VALID_STATES } from 'a2a-tasks'
import type { ListTasksQuery, RemoteTask } from 'a2a-tasks/client'
import type { Arguments } from '../arguments.js'
import type { Command } from '../command.js'
import { connect } from '../connection/connect.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { EXIT } from '../exit-codes.js'
import { usageFailure } from '../failure.js'
import { tasksTable } from '../render/task.js'
import { nearest } from '../suggestion.js'

const LIMIT = 50
const MAX_LIMIT = 10_000
const PAGE_SIZE = 100

export const command: Command = {
  name: 'list',
  usage: 'list URL',
  summary: 'List the tasks of an agent',
  description: 'Lists the tasks that the agent lets you see, the most recently changed first.',
  positionals: [1, 1],
  options: {
    context: { type: 'string', value: 'ID', help: 'Tasks of this conversation' },
    state: { type: 'string', value: 'STATE', help: `Tasks in this state: ${VALID_STATES.join(', ')}` },
    since: {
      type: 'string',
      value: 'TIME',
      help: 'Tasks that have changed since this time, such as 2026-01-31',
    },
    limit: { type: 'string', value: 'N', help: `At most N tasks. Default is ${LIMIT}` },
    ...CONNECTION_OPTIONS,
  },
  examples: ['list http://localhost:3000', 'list https://agent.example --state working --json'],
  async run(args, terminal) {
    const limit = args.integer('limit') ?? LIMIT
    if (limit > MAX_LIMIT) throw usageFailure(`--limit must be at most ${MAX_LIMIT}, got ${limit}`)
    const query = { ...toQuery(args), pageSize: Math.min(limit, PAGE_SIZE) }
    const { client } = await connect(args, terminal, args.at(0))
    const tasks: RemoteTask[] = []
    let total = 0
    for await (const page of client.listTasks(query)) {
      total = page.totalSize ?? 0
      tasks.push(...page.tasks)
      if (tasks.length >= limit) break
    }
    tasks.length = Math.min(tasks.length, limit)
    if (args.flag('json')) terminal.out.json({ tasks, totalSize: total }, 2)
    else if (tasks.length > 0) terminal.out.line(...tasksTable(tasks))
    const more = total > tasks.length ? ` of ${total}. For more: --limit ${Math.min(total, MAX_LIMIT)}` : ''
    if (!args.flag('json'))
      terminal.err.line(tasks.length === 0 ? 'No tasks' : `${tasks.length} tasks${more}`)
    return EXIT.ok
  },
}

function toQuery(args: Arguments): ListTasksQuery {
  const [contextId, state, since] = [args.text('context'), args.text('state'), args.text('since')]
  const known = state === 'cancelled' ? state : VALID_STATES.find((each) => each === state)
  if (state !== undefined && known === undefined) {
    const found = nearest(state, VALID_STATES)
    throw usageFailure(
      `There is no state "${state}"`,
      found === undefined ? `The states are ${VALID_STATES.join(', ')}` : `Did you mean ${found}?`,
    )
  }
  return {
    ...(contextId !== undefined && { contextId }),
    ...(known !== undefined && { state: known }),
    ...(since !== undefined && { since: toTime(since) }),
  }
}

function toTime(text: string): string {
  const time = new Date(text)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw usageFailure(
    `--since must be a time of ISO 8601, got "${text}"`,
    'For example: --since 2026-01-31T12:00Z',
  )
}
