import { TaskManager } from 'a2a-tasks'
import { AgentCard, buildAgentCard, toHybridCard, toV03Card } from 'a2a-tasks/agent-card'
import { AgentCardSchema, type AgentCard as Card } from 'a2a-tasks/schemas'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { thrown } from '../support/manager.js'

const built = buildAgentCard({
  name: 'A',
  url: 'https://a.example',
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extensions: [{ uri: 'urn:x', params: { a: [1] } }],
  },
  skills: [{ id: 'translate', name: 'Translate', description: '', tags: ['text'] }],
})

/** Seed 000, as it stands there. */
test('the example of the task manager holds to the letter', () => {
  const taskManager = new TaskManager()
  const agentInfo = { name: 'Translator', skills: [{ id: 'translate' }] }

  const agentCard = new AgentCard(agentInfo)
  function createCompatibleTask(
    agentCard: AgentCard,
    params: { skill: string },
  ): ReturnType<TaskManager['createTask']> {
    if (agentCard.hasSkill(params.skill)) {
      return taskManager.createTask(params)
    }
    throw new Error(`Agent does not support skill: ${params.skill}`)
  }

  expect(createCompatibleTask(agentCard, { skill: 'translate' })).toMatchObject({ state: 'submitted' })
  expect(thrown(() => createCompatibleTask(agentCard, { skill: 'dance' }))).toEqual(
    new Error('Agent does not support skill: dance'),
  )
  expect(taskManager.size()).toBe(1)
})

describe('AgentCard', () => {
  const card = new AgentCard(built)

  test('is a valid card of 1.0', () => {
    expect(Object.fromEntries(Object.entries(card))).toStrictEqual(built)
    expect(JSON.parse(JSON.stringify(card))).toStrictEqual(built)
    expect(AgentCardSchema.parse(card)).toEqual(built)
    expect(toV03Card(card)).toEqual(toV03Card(built))
    expect(new AgentCard(card)).toEqual(card)
    expectTypeOf<AgentCard>().toExtend<Card>()
    expectTypeOf<Exclude<keyof Card, keyof AgentCard>>().toEqualTypeOf<never>()
  })

  test('reads as a card of every version', () => {
    expect(new AgentCard(toHybridCard(built))).toEqual(card)
    expect(new AgentCard(toV03Card(built)).speaks('JSONRPC', '0.3.0')).toBe(true)
    expect(new AgentCard({ name: 'A', url: 'https://a.example' }).speaks('JSONRPC')).toBe(true)
  })

  test('needs a name, and of each skill an id', () => {
    expect(new AgentCard({ name: 'A' })).toMatchObject({ name: 'A', skills: [], supportedInterfaces: [] })
    for (const [info, path] of [
      [{}, 'card.name'],
      [undefined, 'card'],
      [null, 'card'],
      [{ name: 'A', skills: [{ name: 'S' }] }, 'card.skills[0].id'],
      [{ name: 'A', supportedInterfaces: [{ url: 'x' }] }, 'card.supportedInterfaces[0].protocolBinding'],
    ] as const) {
      expect(thrown(() => new AgentCard(info as never))).toMatchObject({
        code: 'INVALID_PARAMS',
        data: { path },
      })
    }
  })

  test('is frozen deeply, and its input is not', () => {
    const info = structuredClone(built)
    const frozen = new AgentCard(info)
    const parts = [
      frozen,
      frozen.skills,
      frozen.skills[0]?.tags,
      frozen.capabilities.extensions?.[0]?.params?.['a'],
    ]
    expect(parts.map(Object.isFrozen)).toEqual([true, true, true, true])
    expect(() => frozen.skills.push({ id: 'x', name: 'x', description: '', tags: [] })).toThrow(TypeError)
    info.skills[0]?.tags.push('more')
    ;(info.capabilities.extensions?.[0]?.params?.['a'] as unknown[]).push(2)
    expect(frozen).toEqual(card)
  })

  test('knows its skills', () => {
    expect([card.hasSkill('translate'), card.hasSkill('Translate'), card.hasSkill('')]).toEqual([
      true,
      false,
      false,
    ])
    expect(card.skill('translate')).toEqual(built.skills[0])
    expect(card.skill('constructor')).toBeUndefined()
  })

  test.each([
    ['JSONRPC', undefined, true],
    ['jsonrpc', '1.0', true],
    ['jsonrpc', '1.0.3', true],
    ['HTTP+JSON', '0.3.0', true],
    ['GRPC', undefined, false],
    ['JSONRPC', '1.1', false],
    ['JSONRPC', '1', false],
    ['JSONRPC', '', false],
    ['JSONRPC', '10.0', false],
  ])('speaks %s %s: %s', (binding, version, speaks) => {
    expect(card.speaks(binding, version)).toBe(speaks)
  })

  test.each([
    ['streaming', true],
    ['pushNotifications', false],
    ['extendedAgentCard', false],
    ['extensions', false],
    ['urn:x', true],
    ['urn:y', false],
    ['constructor', false],
  ])('supports %s: %s', (what, supports) => {
    expect(card.supports(what)).toBe(supports)
  })
})
