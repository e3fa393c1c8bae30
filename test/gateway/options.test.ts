import { describe, expect, test } from 'vitest'
import { thrown } from '../support/manager.js'
import { A2AGateway } from '../../src/gateway/gateway.js'
import type { A2AGatewayOptions } from '../../src/gateway/options.js'
import { ManualClock } from 'a2a-tasks/testing'
import { agentInput, pass, ScriptedProvider, serviceError } from './support/gateway.js'
import { expectWarnings } from '../support/warnings.js'

const providers = { custom: new ScriptedProvider() }
// As callers in JavaScript may have them.
const made = (options: unknown): A2AGateway => new A2AGateway(options as A2AGatewayOptions)

describe('a gateway is refused', () => {
  test.each([
    [undefined, 'A2AGateway'],
    [
      {},
      '"providers" must be an object of providers by name, as in { langgraph: langGraph() }, got undefined',
    ],
    [{ providers, tsks: 1 }, 'tsks'],
    [{ providers, config: { taskTimeout: 1 } }, 'taskTimeout'],
    // It is a configuration's: who calls the constructor starts the checks.
    [{ providers, config: { healthCheckIntervalMs: 1 } }, 'healthCheckIntervalMs'],
    [{ providers, config: { taskTimeoutMs: 0 } }, '"config.taskTimeoutMs" must be a positive number, got 0'],
    [
      { providers, config: { pollIntervalMs: NaN } },
      '"config.pollIntervalMs" must be a positive number, got NaN',
    ],
    [{ providers, config: { cancelTimeoutMs: '1' } }, '"config.cancelTimeoutMs" must be a positive number'],
    [{ providers, config: { taskTimeoutMs: Infinity } }, '"config.taskTimeoutMs"'],
    [{ providers, config: { maxConcurrentTasks: 0 } }, 'maxConcurrentTasks'],
    [{ providers, config: { rateLimit: { requests: 0, perMs: 1 } } }, 'rateLimit.requests'],
    [{ providers, config: { circuitBreaker: { failures: 0 } } }, 'circuitBreaker.failures'],
    [{ providers, handleSecret: 'short' }, '"handleSecret" must have at least 32 characters'],
    [{ providers, handleSecret: '' }, '"handleSecret" must have at least 32 characters'],
    [
      { providers: { langgraph: () => 1 } },
      '"providers.langgraph" has no sendTask(): call the function, as in langGraph()',
    ],
    [{ providers: { langgraph: undefined } }, '"providers.langgraph" has no sendTask()'],
  ])('for %j', (options, text) => {
    const error = thrown(() => made(options))
    expect(error).toBeInstanceOf(Error)
    expect(String(error)).toContain(text)
  })
})

test('providers are known by all of their names', async () => {
  const provider = new ScriptedProvider()
  const gateway = new A2AGateway({ providers: { LangChain: provider } })
  gateway.registry.register(agentInput('a', { provider: 'langgraph' }))
  void gateway.sendTask('a', 'x')
  await (await provider.last('sendTask')).answer({ state: 'completed' })
  expect(gateway.loadOf('a')).toBe(0)
})

test('the clock is also that of the manager and the registry that the gateway makes', async () => {
  const clock = new ManualClock('2030-01-01T00:00:00.000Z')
  const gateway = new A2AGateway({ providers, clock })
  const agent = gateway.registry.register(agentInput('a'))
  const task = await gateway.sendTask('a', 'x', { returnImmediately: true })
  expect([agent.metadata.createdAt, task.createdAt]).toEqual([
    ...['2030-01-01T00:00:00.000Z', '2030-01-01T00:00:00.000Z'],
  ])
})

test('times that no timer can hold are as long as one can', async () => {
  const provider = new ScriptedProvider()
  const clock = new ManualClock()
  const delays: number[] = []
  const schedule = clock.schedule.bind(clock)
  clock.schedule = (callback, delayMs) => {
    delays.push(delayMs)
    return schedule(callback, delayMs)
  }
  const config = { taskTimeoutMs: 1e12, pollIntervalMs: 1e12, cancelTimeoutMs: 1e12 }
  const gateway = new A2AGateway({ providers: { custom: provider }, clock, config })
  gateway.registry.register(agentInput('a'))
  void gateway.sendTask('a', 'x')
  await (await provider.last('sendTask')).answer({ state: 'working', ref: { r: 1 } })
  void gateway.cancelTask([...gateway.tasks.listTasks()][0]?.id ?? '')
  await pass(clock, 0)
  expect(delays).toEqual([2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1])
})

describe('errors of a service without onError', () => {
  async function failed(error: unknown, options: Partial<A2AGatewayOptions> = {}): Promise<void> {
    const provider = new ScriptedProvider()
    const gateway = new A2AGateway({ providers: { custom: provider }, ...options })
    gateway.registry.register(agentInput('a'))
    const sent = gateway.sendTask('a', 'x')
    await (await provider.last('sendTask')).fail(error)
    expect((await sent).state).toBe('failed')
    await pass(new ManualClock(), 0)
  }

  test('are a warning of the process', async () => {
    const warnings = expectWarnings(/^work, agent a: .* Pass "onError" to handle it$/)
    const error = serviceError()
    await failed(error)
    expect(warnings.map(({ message }) => message)).toEqual([
      'work, agent a: Provider custom of agent a: secret of the service. Pass "onError" to handle it',
    ])
    expect(warnings[0]).toHaveProperty('detail', error.stack)
  })

  test('are one even if the service throws no error', async () => {
    const warnings = expectWarnings(/^work, agent a: .* Pass "onError" to handle it$/)
    await failed('boom')
    expect(warnings.map(({ message }) => message)).toEqual([
      'work, agent a: a value that is not an error. Pass "onError" to handle it',
    ])
  })

  test('are no warning with onError', async () => {
    await failed(serviceError(), { onError: () => undefined })
  })
})
