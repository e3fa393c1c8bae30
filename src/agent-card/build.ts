/**
 * Builder of complete agent cards.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import {
  AgentCardSchema,
  type AgentCapabilities,
  type AgentCard,
  type AgentInterface,
  type AgentSkill,
} from '../schemas/agent-card.js'
import { describe } from '../runtime/describe.js'
import { knownNames } from '../runtime/known-names.js'
import { check } from '../wire/check.js'
import { requireKnownFields } from '../wire/known-fields.js'
import { isRecord } from '../runtime/unread.js'
import { plain } from './plain.js'

/** A type whose optional fields may be `undefined`, at every depth. Free JSON stays as it is. */
type Loose<T> = T extends readonly (infer E)[]
  ? readonly Loose<E>[]
  : T extends object
    ? string extends keyof T
      ? T
      : {
          readonly [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K>
            ? Loose<T[K]> | undefined
            : Loose<T[K]>
        }
    : T

interface AgentCardFields extends Loose<
  Partial<Omit<AgentCard, 'name' | 'skills' | 'capabilities' | 'supportedInterfaces'>>
> {
  /** The agent's name, which clients show to their users. */
  readonly name: string
  /** The protocol versions at `url`. Default is `['1.0', '0.3']`. */
  readonly protocolVersions?: readonly string[] | undefined
  /** Default is `{ streaming: true }`. */
  readonly capabilities?: Loose<AgentCapabilities> | undefined
  /** Default is one skill with the agent's name and description. */
  readonly skills?: readonly Loose<AgentSkill>[] | undefined
}

/**
 * Where the agent is reached: `url`, the base URL for both bindings, or the interfaces. `urlFromEnvironment()` builds the URL
 * from `PORT` and `BIND_HOST`.
 */
type AgentAddress =
  | {
      /** The absolute URL at which clients reach the agent, with its path, such as `https://agent.example/agent`. */
      readonly url: string
      readonly supportedInterfaces?: readonly Loose<AgentInterface>[] | undefined
    }
  | { readonly url?: string; readonly supportedInterfaces: readonly Loose<AgentInterface>[] }

/** A card whose fields with defaults may be absent or `undefined`. Requires `name`, and `url` or `supportedInterfaces`. */
export type AgentCardInput = AgentCardFields & AgentAddress

/**
 * Builds a complete A2A 1.0 card (§4.4.1). Defaults: version `1.0.0`, text input and output, streaming, and one skill
 * with the agent's name and description.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of what is missing, unknown or wrong, such as `card.skills[0].id`.
 * @example
 * const card = buildAgentCard({ name: 'Summarizer', url: 'https://agent.example' })
 */
export function buildAgentCard(input: AgentCardInput): AgentCard {
  requireCard(input)
  requireKnownCard(input)
  // A copy without the fields that are undefined.
  const { url, protocolVersions = ['1.0', '0.3'], ...given } = plain(input) as AgentCardInput
  if (url === undefined && given.supportedInterfaces === undefined) {
    throw invalidParams('card.url', 'is missing: pass the URL of the agent, such as https://agent.example')
  }
  if (url !== undefined && !/^https?:\/\/[^/]/.test(url)) {
    throw invalidParams('card.url', 'must be an absolute URL, such as https://agent.example')
  }
  const { name, description = name } = given
  return check(
    AgentCardSchema,
    {
      description,
      supportedInterfaces: url === undefined ? [] : interfacesAt(url.replace(/\/+$/, ''), protocolVersions),
      version: '1.0.0',
      capabilities: { streaming: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'default', name, description, tags: ['general'] }],
      ...given,
    },
    'card',
  )
}

/** Fields of the input that stand for "supportedInterfaces" of the card. */
const SHORTHANDS = ['url', 'protocolVersions']

/** @throws {A2AError} `INVALID_PARAMS` for an unknown field at any depth, also for one that is `undefined`. */
function requireKnownCard(input: AgentCardInput): void {
  const known = [...SHORTHANDS, ...Object.keys(AgentCardSchema.shape)]
  const unknown = Object.keys(input).find((key) => !known.includes(key))
  if (unknown !== undefined) {
    throw invalidParams(`card.${unknown}`, `is unknown${knownNames(unknown, known)}`)
  }
  const fields = Object.entries(input).filter(([key]) => !SHORTHANDS.includes(key))
  requireKnownFields(AgentCardSchema, Object.fromEntries(fields), 'card')
}

/** @throws {A2AError} `INVALID_PARAMS` for anything but an object. */
export function requireCard(input: unknown): void {
  if (isRecord(input)) return
  throw invalidParams('card', `must be an object: { name, url }, got ${describe(input)}`)
}

function interfacesAt(url: string, versions: readonly string[]): AgentInterface[] {
  return versions.flatMap((protocolVersion) =>
    ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion })),
  )
}
