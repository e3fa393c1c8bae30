import { LocalTaskManager, NullTaskManager, taskManagerFromEnvironment } from 'a2a-tasks/compat'
import { afterEach, describe, expect, test, vi } from 'vitest'

const echo = (text: string): string => `You said: ${text}`

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('TASK_STORE_TYPE', () => {
  test.each([undefined, '', ' ', 'local', 'LOCAL', ' Local '])(
    '%j asks for a local manager',
    async (type) => {
      const manager = taskManagerFromEnvironment(echo, { env: { TASK_STORE_TYPE: type } })
      expect(manager).toBeInstanceOf(LocalTaskManager)
      const { messages } = await manager.sendMessage('Hello')
      expect(messages.at(-1)).toMatchObject({ parts: [{ text: 'You said: Hello' }] })
    },
  )

  test.each(['null', 'none', 'NULL', 'None'])('%j asks for none', (type) => {
    expect(taskManagerFromEnvironment(echo, { env: { TASK_STORE_TYPE: type } })).toBeInstanceOf(
      NullTaskManager,
    )
  })

  test.each(['redis', 'false', '0', 'locale'])('%j is refused with the list of known values', (type) => {
    expect(() => taskManagerFromEnvironment(echo, { env: { TASK_STORE_TYPE: type } })).toThrow(
      new RangeError(`"TASK_STORE_TYPE" must be local, null or none, got "${type}"`),
    )
  })

  test('is that of the process, where no other is given', () => {
    vi.stubEnv('TASK_STORE_TYPE', 'null')
    expect(taskManagerFromEnvironment(echo)).toBeInstanceOf(NullTaskManager)
    expect(taskManagerFromEnvironment(echo, { env: {} })).toBeInstanceOf(LocalTaskManager)
    vi.stubEnv('TASK_STORE_TYPE', undefined)
    expect(taskManagerFromEnvironment(echo)).toBeInstanceOf(LocalTaskManager)
  })

  test.each(['local', 'null'])('refuses what is invalid, also if it says %s', (type) => {
    const env = { TASK_STORE_TYPE: type }
    const misspelt: object = { environment: env, env }
    expect(() => taskManagerFromEnvironment(echo, misspelt)).toThrow(
      /^Unknown option "environment" of taskManagerFromEnvironment; known are tasks, .*, env$/,
    )
    expect(() => taskManagerFromEnvironment(echo, { env, graceMs: 0 })).toThrow(
      '"graceMs" must be a number from 1 to 2147483647 ms, got 0',
    )
    expect(() => taskManagerFromEnvironment(undefined as never, { env })).toThrow(
      '"processFn" must be a function, got undefined',
    )
  })

  test('hands the options on to the local manager', async () => {
    const manager = taskManagerFromEnvironment(
      () => {
        throw new Error('Error occurred')
      },
      { env: {}, describeError: String, onError: () => undefined },
    )
    expect(await manager.sendMessage('Hello')).toMatchObject({ message: 'Error: Error occurred' })
  })
})
