/** Selection of an agent for a task, and the errors if there is none. */
import { describe, expect, test } from 'vitest'
import { invalidParams } from '../../../src/core/errors.js'
import type { AgentInput } from '../../../src/gateway/registry/agent.js'
import { loadGatewayConfig } from '../../../src/gateway/config/config.js'
import type { GatewayConfig } from '../../../src/gateway/config/types.js'
import { A2AGateway } from '../../../src/gateway/gateway.js'
import { thrown } from '../../support/manager.js'
import {
  agentInput,
  codeOf,
  pass,
  ScriptedProvider,
  serviceError,
  setUp,
  type SetUpOptions,
} from '../support/gateway.js'

type Needs = Parameters<A2AGateway['findAgentForTask']>[0]

/** The agents `a` and `b`, both of which can sum. */
function two(options: SetUpOptions = {}, others: Partial<AgentInput> = {}) {
  const capabilities = ['sum']
  const all = setUp({ ...options, agent: { capabilities, ...options.agent } })
  all.registry.register(agentInput('b', { capabilities, ...others }))
  return { ...all, find: (needs: Needs) => all.gateway.findAgentForTask(needs)?.id }
}

describe('the agent for a task', () => {
  test('is none if the text mentions no capability, and any agent if there is no text', () => {
    const { find } = two()
    expect([find('Write a poem'), find('')]).toEqual([undefined, undefined])
    expect([find({}), find({ capabilities: [], tags: [] })]).toEqual(['a', 'b'])
  })

  test('is none if the application finds no capability in the text', () => {
    expect(two({ extractCapabilities: () => [] }).find('Sum this up')).toBeUndefined()
  })

  test.each<Needs>(['Sum this up', { capabilities: ['sum'] }, {}])(
    'is none without a provider: %j',
    (needs) => {
      const { find, registry } = two({}, { provider: 'martian' })
      expect([find(needs), find(needs)]).toEqual(['a', 'a'])
      registry.unregister('a')
      expect(find(needs)).toBeUndefined()
    },
  )

  test('is one that is full only where no other can do it', () => {
    const { find, gateway } = two({ agent: { maxConcurrentTasks: 1 } })
    // They have more to do than the one that is full.
    for (const id of ['b', 'b', 'a']) void gateway.sendTask(id, 'x')
    expect([find('Sum this up'), find('Sum this up')]).toEqual(['b', 'b'])
    gateway.registry.unregister('b')
    expect(find('Sum this up')).toBe('a')
  })

  test('is one whose service keeps failing only if no other agent can do it, and until it is tried again', async () => {
    const { find, gateway, provider, clock, registry } = two({
      config: { circuitBreaker: { failures: 1, resetMs: 1_000 } },
    })
    const sent = gateway.sendTask('a', 'x')
    await (await provider.last('sendTask')).fail(serviceError())
    await sent
    expect([find('Sum this up'), find('Sum this up')]).toEqual(['b', 'b'])
    registry.updateStatus('b', 'offline')
    expect(find('Sum this up')).toBe('a')
    registry.updateStatus('b', 'online')
    await pass(clock, 1_000)
    expect(new Set([find('Sum this up'), find('Sum this up')])).toEqual(new Set(['a', 'b']))
  })
})

/** A provider that wants every agent to have an assistant. */
class Strict extends ScriptedProvider {
  readonly checked: string[] = []

  checkAgent({ id, settings }: { id: string; settings: Readonly<Record<string, unknown>> }): void {
    this.checked.push(id)
    if (settings['assistantId'] === undefined) throw invalidParams('settings.assistantId', 'is missing')
  }
}

describe('an agent that is not set up', () => {
  const MISSING = {
    code: 'PROVIDER_ERROR',
    message: 'Provider custom of agent a: settings.assistantId is missing',
    data: { provider: 'custom', agentId: 'a', reason: 'settings.assistantId is missing', retryable: false },
    cause: { code: 'INVALID_PARAMS', data: { path: 'settings.assistantId' } },
  }

  function strict(agent: Partial<AgentInput> = {}) {
    const provider = new Strict()
    return { ...setUp({ agent, providers: { custom: provider } }), provider }
  }

  test('gets no task, and the sender gets the reason', async () => {
    const { gateway, provider, reported } = strict()
    const error: unknown = await gateway.sendTask('a', 'x').catch((reason: unknown) => reason)
    expect(error).toMatchObject(MISSING)
    expect(thrown(() => gateway.streamTask('a', 'x'))).toMatchObject(MISSING)
    expect([provider.calls, gateway.tasks.size(), gateway.loadOf('a'), reported]).toEqual([[], 0, 0, []])
  })

  test('is one whose check says anything', async () => {
    const all = setUp()
    const provider = Object.assign(all.provider, {
      checkAgent: () => {
        // Whatever providers may throw.
        throw 'boom' as unknown as Error
      },
    })
    const error: unknown = await all.gateway.sendTask('a', 'x').catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { reason: 'it is not set up' },
      cause: 'boom',
    })
    expect(provider.calls).toEqual([])
  })

  test('is reported to onError if an executor asks for room', () => {
    const { gateway, reported } = strict()
    const error = thrown(() => gateway.requireRoom('a'))
    expect(error).toMatchObject(MISSING)
    expect(reported).toEqual([{ error, context: { during: 'sendTask', agentId: 'a' } }])
  })

  test('is reported to onError, unlike a busy one', () => {
    const { gateway, reported, registry } = strict({ settings: { assistantId: 'x' }, maxConcurrentTasks: 1 })
    void gateway.sendTask('a', 'x')
    expect(thrown(() => gateway.requireRoom('a'))).toMatchObject({ code: 'AGENT_BUSY' })
    registry.updateStatus('a', 'offline')
    expect(thrown(() => gateway.requireRoom('a'))).toMatchObject({ message: 'Agent a is not online' })
    expect(thrown(() => gateway.requireRoom('unknown'))).toMatchObject({ code: 'AGENT_NOT_FOUND' })
    expect(reported).toEqual([])
  })

  test('gets its task when it is', async () => {
    const { gateway, provider } = strict({ settings: { assistantId: 'x' } })
    const sent = gateway.sendTask('a', 'x')
    await (await provider.last('sendTask')).answer({ state: 'completed' })
    expect((await sent).state).toBe('completed')
  })
})

describe('a gateway of a configuration', () => {
  const yaml = (assistants: readonly (string | null)[]): string =>
    JSON.stringify({
      a2a: {
        agents: assistants.map((assistant_id, index) => ({
          id: `agent-${index}`,
          provider: 'custom',
          endpoint: { url: 'https://agent.example.com' },
          capabilities: [{ name: 'sum' }],
          ...(assistant_id !== null && { settings: { assistant_id } }),
        })),
      },
    })

  test('has every agent checked by its provider', async () => {
    const provider = new Strict()
    const config = await loadGatewayConfig(yaml(['x', 'y']), { env: {} })
    const gateway = A2AGateway.fromConfig(config, { providers: { custom: provider } })
    expect(provider.checked).toEqual(['agent-0', 'agent-1'])
    await gateway.close()
    const bad = await loadGatewayConfig(yaml(['x', null]), { env: {} })
    const made = () => A2AGateway.fromConfig(bad, { providers: { custom: new Strict() } })
    expect(thrown(made)).toMatchObject({
      code: 'CONFIGURATION_ERROR',
      data: { key: 'a2a.agents[1].settings.assistant_id', agent: 'agent-1' },
    })
    expect(thrown(() => A2AGateway.fromConfig(config, { providers: {} }))).toMatchObject({
      code: 'CONFIGURATION_ERROR',
      message: expect.stringMatching(
        /^gateway.yaml:1:\d+ a2a.agents\[0\].provider of agent "agent-0": No provider for custom: pass it in "providers"$/,
      ) as unknown,
    })
    // Agents that no file has.
    const { agents, ...others } = bad
    const copied = { ...others, agents: agents.map((agent) => ({ ...agent })) }
    expect(
      thrown(() => A2AGateway.fromConfig(copied, { providers: { custom: new Strict() } })),
    ).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'settings.assistantId' },
    })
  })

  test('is made of what loadGatewayConfig gives, and not of its promise or its text', async () => {
    const loading = loadGatewayConfig(yaml(['x']), { env: {} })
    for (const given of [loading, yaml(['x']), undefined, null, 42, {}, { gateway: {} }, { agents: [] }]) {
      // As callers in JavaScript may have it.
      const error = thrown(() => A2AGateway.fromConfig(given as unknown as GatewayConfig, { providers: {} }))
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toContain('await loadGatewayConfig(text)')
    }
    expect(await codeOf(loading)).toBe('no error')
  })
})
