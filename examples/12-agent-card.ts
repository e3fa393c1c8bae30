/** Creates a card from tools, signs it, serves it in two versions, and verifies it with the public key. */
import assert from 'node:assert/strict'
import { A2AError } from 'a2a-tasks'
import {
  AgentCard,
  buildAgentCard,
  parseAgentCard,
  signAgentCard,
  toHybridCard,
  toolsToSkills,
  toV03Card,
  urlFromEnvironment,
  verifyAgentCard,
} from 'a2a-tasks/agent-card'

// The card of an agent. Each of its MCP tools becomes a skill.
const tools = ['github_star_repo', { name: 'web_search', description: 'Searches the web.' }]
const card = buildAgentCard({
  name: 'Researcher',
  description: 'Finds things out',
  url: urlFromEnvironment(),
  skills: toolsToSkills(tools, { tags: { web_search: ['search', 'web'] } }),
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
})
assert.deepEqual(
  card.skills.map(({ name, description }) => `${name}: ${description}`),
  ['GitHub Star Repo: Tool: github_star_repo', 'Web Search: Searches the web.'],
)

// A new key signs the card. Load yours from your store of secrets.
const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
const signed = await signAgentCard(card, { key: pair.privateKey, alg: 'ES256', kid: 'researcher-1' })

// The served card: clients of every version can read it.
const served: unknown = JSON.parse(JSON.stringify(toHybridCard(signed)))

// A client with the public key verifies the signature.
const publicKey = { ...(await crypto.subtle.exportKey('jwk', pair.publicKey)), kid: 'researcher-1' }
const { kid, card: verified } = await verifyAgentCard(served, { keys: [publicKey] })
console.log(`${verified.name}, signed with ${kid}`)

// A card that was changed after signing is refused.
try {
  await verifyAgentCard({ ...signed, name: 'Impostor' }, { keys: [publicKey] })
  assert.fail('It was accepted')
} catch (error) {
  assert.ok(A2AError.is(error, 'SIGNATURE_INVALID'))
  console.log(error.message)
}

// Look things up in a card of any version of A2A. This one is a card of 0.3.
const agent = new AgentCard(toV03Card(card))
assert.equal(agent.hasSkill('web_search'), true)
assert.equal(agent.skill('web_search')?.tags.join(), 'search,web')
assert.equal(agent.speaks('JSONRPC', '0.3.0'), true)
assert.equal(agent.supports('streaming'), true)
assert.equal(agent.supports('pushNotifications'), false)
assert.throws(() => agent.skills.pop(), TypeError)

// Missing properties get defaults. A card without a required property is refused.
const { skills, supportedInterfaces } = parseAgentCard({
  name: 'Old',
  url: 'https://old.example',
  skills: [{ id: 'a' }],
})
assert.deepEqual(skills, [{ id: 'a', name: 'a', description: '', tags: ['general'] }])
assert.equal(supportedInterfaces[0]?.protocolVersion, '0.3')
assert.throws(() => parseAgentCard({ name: 'Old', url: 'https://old.example', skills: [{}] }), {
  message: 'card.skills[0].id is missing',
})
