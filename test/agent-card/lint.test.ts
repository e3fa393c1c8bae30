/** What clients would stumble on in a card. */
import { lintAgentCard } from 'a2a-tasks/agent-card'
import { describe, expect, test } from 'vitest'

describe('the lint of a card', () => {
  const raw = {
    ...{ name: 'A', description: 'Does', version: '1', capabilities: {} },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    skills: [{ id: 's', name: 'S', description: 'Does', tags: ['t'] }],
    url: 'https://a.example',
    supportedInterfaces: [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  }
  const lint = (changes: object, source = 'https://a.example/.well-known/agent-card.json'): string[] => {
    const card = { ...raw, ...changes }
    return lintAgentCard(card, { url: source }).map(({ level, path }) => `${level} ${path}`)
  }
  const at = (url: string): object => ({ supportedInterfaces: [{ ...raw.supportedInterfaces[0], url }] })

  test.each<[string, object, readonly string[]]>([
    ['nothing', {}, []],
    ['a loopback address', at('http://localhost:3000'), ['error supportedInterfaces[0].url']],
    ['an address to listen on', at('https://0.0.0.0'), ['error supportedInterfaces[0].url']],
    ['http for a card of https', at('http://a.example'), ['error supportedInterfaces[0].url']],
    ['another origin', at('https://b.example'), ['warning supportedInterfaces[0].url']],
    ['no skills', { skills: [] }, ['warning skills']],
    ['two skills with one id', { skills: [raw.skills[0], raw.skills[0]] }, ['warning skills']],
    ['no tags', { skills: [{ ...raw.skills[0], tags: [] }] }, ['warning skills[0].tags']],
    ['a mode that is no media type', { defaultInputModes: ['text'] }, ['warning defaultInputModes']],
    [
      'an unknown scheme',
      { securityRequirements: [{ schemes: { key: {} } }] },
      ['error securityRequirements'],
    ],
    ['no address of 0.3', { url: undefined }, ['warning url']],
  ])('finds %s', (_, changes, problems) => {
    expect(lint(changes)).toEqual(problems)
  })
})
