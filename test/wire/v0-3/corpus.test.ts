import { readdirSync, readFileSync } from 'node:fs'
import { A2AError } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { AgentCardSchema } from '../../../src/schemas/index.js'
import { v0_3 } from '../../../src/wire/index.js'

const dialect = v0_3()
const { rpc, rest } = dialect
const ROOT = new URL('../corpus/0.3/', import.meta.url)

/** Who reads the requests of each folder. */
const READERS: Readonly<Record<string, { readonly decode: (params: unknown) => object } | undefined>> = {
  MessageSendParams: rpc.SendMessage,
  SendMessageRequest: rest.SendMessage,
  TaskQueryParams: rpc.GetTask,
  TaskIdParams: rpc.CancelTask,
  TaskPushNotificationConfig: rpc.CreateTaskPushNotificationConfig,
  CreateTaskPushNotificationConfigRequest: rest.CreateTaskPushNotificationConfig,
  GetTaskPushNotificationConfigParams: rpc.GetTaskPushNotificationConfig,
  DeleteTaskPushNotificationConfigParams: rpc.DeleteTaskPushNotificationConfig,
  ListTasksQuery: rest.ListTasks,
}

/** What a client sends, and what becomes of it; or a card of 1.0, and what a client gets. */
interface Example {
  readonly wire: unknown
  readonly core?: object
  /** Without a reason where it is only that the type is wrong: how that reads is up to `check`. */
  readonly error?: { readonly path: string; readonly reason?: string }
  readonly card?: object
}

function examples(folder: string): [name: string, example: Example][] {
  return readdirSync(new URL(`${folder}/`, ROOT)).map((name) => {
    const text = readFileSync(new URL(`${folder}/${name}`, ROOT), 'utf8')
    return [name, JSON.parse(text) as Example]
  })
}

function outcome(read: () => unknown): Pick<Example, 'core' | 'error'> {
  try {
    return { core: read() as object }
  } catch (error) {
    if (A2AError.is(error, 'INVALID_PARAMS')) return { error: error.data }
    throw error
  }
}

test('every folder has a reader', () => {
  expect(readdirSync(ROOT).sort()).toEqual(['AgentCard', ...Object.keys(READERS)].sort())
})

describe.each(Object.keys(READERS))('%s', (folder) => {
  test.each(examples(folder))('%s', (_name, { wire, core, error }) => {
    const got = outcome(() => READERS[folder]?.decode(wire))
    if (core === undefined) expect(got).toMatchObject({ error })
    else expect(got).toStrictEqual({ core })
  })
})

describe('AgentCard', () => {
  test.each(examples('AgentCard'))('%s', (_name, { wire, card }) => {
    expect(dialect.encodeCard(AgentCardSchema.parse(card))).toStrictEqual(wire)
  })
})
