import { describe, expect, test } from 'vitest'
import { buildAgentCardForAgent, corvidPreset, toolsToSkills } from 'a2a-tasks/agent-card'
import { AgentCardSchema } from 'a2a-tasks/schemas'
import { corvidTools } from './support/corvid-tools.js'
import { thrown } from '../support/manager.js'

describe('toolsToSkills', () => {
  test.each([
    ['github_star_repo', 'GitHub Star Repo'],
    ['github_list_prs', 'GitHub List PRs'],
    ['github_get_pr_diff', 'GitHub Get PR Diff'],
    ['a2a_api', 'A2A API'],
    ['sendMessage', 'SendMessage'],
    ['corvid_corvid_list', 'Corvid List'],
    ['my_corvid_tool', 'My Corvid Tool'],
    ['constructor', 'Constructor'],
  ])('names %s %s', (id, name) => {
    expect(toolsToSkills([id], { prefix: 'corvid_' })[0]).toEqual({
      id,
      name,
      description: `Tool: ${id}`,
      tags: ['general'],
      inputModes: ['application/json'],
      outputModes: ['application/json', 'text/plain'],
    })
  })

  test('strips no prefix unless there is one', () => {
    expect(toolsToSkills(['corvid_list'])[0]?.name).toBe('Corvid List')
  })

  test('takes tools as MCP lists them, and tables before what they say', () => {
    const tool = { name: 'web_search', title: 'Search', description: 'Of its own', inputSchema: {} }
    expect(toolsToSkills([tool])[0]).toMatchObject({ name: 'Search', description: 'Of its own' })
    const tables = { tags: { web_search: ['web'] }, descriptions: { web_search: 'From the table' } }
    expect(toolsToSkills([{ ...tool, title: '' }], tables)[0]).toMatchObject({
      name: 'Web Search',
      description: 'From the table',
      tags: ['web'],
    })
    expect(toolsToSkills([{ name: 'x', description: '' }])[0]?.description).toBe('Tool: x')
  })

  test('returns new lists', () => {
    const [first] = toolsToSkills(['corvid_web_search'], corvidPreset)
    first?.tags.push('changed')
    expect(toolsToSkills(['corvid_web_search'], corvidPreset)[0]?.tags).toEqual(['search', 'web'])
  })
})

describe('corvidPreset', () => {
  test('has the 30 tools of corvid-agent', () => {
    const names = corvidTools.map(([id]) => id)
    const skills = toolsToSkills(names, corvidPreset)
    expect(skills.map(({ id, name, tags, description }) => [id, name, tags.join(', '), description])).toEqual(
      corvidTools.map(([id, name, tags, description]) => [id, name, tags, description]),
    )
    expect(Object.keys(corvidPreset.tags)).toEqual(names)
    expect(Object.keys(corvidPreset.descriptions)).toEqual(names)
    expect(names).toHaveLength(30)
  })

  test('has the 23 that are there by default, in their order', () => {
    const inOrder = corvidTools
      .filter(([, , , , number]) => number > 0)
      .sort(([, , , , a], [, , , , b]) => a - b)
      .map(([id]) => id)
    expect(corvidPreset.defaultTools).toEqual(inOrder)
    expect(inOrder).toHaveLength(23)
  })
})

describe('buildAgentCardForAgent', () => {
  const agent = { id: 'a/1 ü', name: 'Ada', description: 'Reviews code' }
  const options = { url: 'https://agents.example/', preset: corvidPreset }
  const idsFor = (mcpToolPermissions?: readonly string[] | null): string[] =>
    buildAgentCardForAgent({ ...agent, mcpToolPermissions }, options).skills.map(({ id }) => id)

  test('is a card of 1.0, of an agent below the server', () => {
    const card = buildAgentCardForAgent(agent, options)
    expect(AgentCardSchema.parse(card)).toEqual(card)
    expect(card).toMatchObject({ name: 'Ada', description: 'Reviews code' })
    expect(card.supportedInterfaces[0]?.url).toBe('https://agents.example/api/agents/a%2F1%20%C3%BC')
  })

  test('shows the tools that the agent may use, of those there are', () => {
    expect(idsFor()).toEqual(corvidPreset.defaultTools)
    expect(idsFor(null)).toEqual(corvidPreset.defaultTools)
    expect(idsFor([])).toEqual([])
    const some = ['corvid_grant_credits', 'constructor', 'unknown', 'corvid_web_search', 'corvid_web_search']
    expect(idsFor(some)).toEqual(['corvid_grant_credits', 'corvid_web_search', 'corvid_web_search'])
  })

  test.each([
    ['Reviews code', {}],
    ['Reviews code', { persona: null, bundles: [] }],
    ['Reviews code', { persona: { archetype: 'custom' } }],
    ['Reviews code | Archetype: mentor', { persona: { archetype: 'mentor' } }],
    ['Reviews code | Skills: git, web', { bundles: [{ name: 'git' }, { name: 'web' }] }],
    [
      'Reviews code | Archetype: mentor | Skills: git',
      { persona: { archetype: 'mentor' }, bundles: [{ name: 'git' }] },
    ],
  ])('%s', (description, more) => {
    expect(buildAgentCardForAgent(agent, { ...options, ...more }).description).toBe(description)
  })

  test('describes an agent that is not described', () => {
    const bare = { ...agent, description: '' }
    expect(buildAgentCardForAgent(bare, options).description).toBe('CorvidAgent instance')
    expect(buildAgentCardForAgent(bare, { ...options, preset: {} }).description).toBe('Ada')
  })

  test('takes the rest of the card, and refuses what is wrong', () => {
    const card = { version: '2.0.0', protocolVersions: ['1.0'] }
    expect(buildAgentCardForAgent(agent, { ...options, card })).toMatchObject({ version: '2.0.0' })
    expect(thrown(() => buildAgentCardForAgent(agent, { ...options, url: 'agents' }))).toMatchObject({
      data: { path: 'card.url' },
    })
  })
})
