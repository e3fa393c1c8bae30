/**
 * Selection of an agent's interfaces.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { AgentCard, AgentInterface } from '../../schemas/agent-card.js'
import { v0_3Client } from '../../wire/client/v0-3.js'
import { v1Client } from '../../wire/client/v1.js'
import type { ClientDialect } from '../../wire/client/dialect.js'
import { parseUrl } from '../../runtime/url.js'

/** An interface that the client supports, with its dialect. */
export interface SelectedInterface {
  readonly agentInterface: AgentInterface
  readonly dialect: ClientDialect
  readonly isRpc: boolean
}

const DIALECTS = [v1Client, v0_3Client]

/** Version without its patch number, which does not affect compatibility (A2A 1.0 §3.6). */
function versionOf({ protocolVersion }: AgentInterface): string {
  return protocolVersion.split('.', 2).join('.')
}

/**
 * Selects the interfaces that the client supports, in the card's order (A2A 1.0 §8.3.2).
 *
 * @throws {A2AError} `VERSION_NOT_SUPPORTED` if there is none.
 */
export function selectInterfaces(
  { name, supportedInterfaces }: AgentCard,
  versions: readonly string[],
  bindings: readonly string[],
): readonly [SelectedInterface, ...SelectedInterface[]] {
  const selected = supportedInterfaces.flatMap((agentInterface): SelectedInterface[] => {
    const binding = agentInterface.protocolBinding.toUpperCase()
    const dialect = DIALECTS.find(
      ({ version }) => version === versionOf(agentInterface) && versions.includes(version),
    )
    if (dialect === undefined || !bindings.includes(binding)) return []
    return [{ agentInterface, dialect, isRpc: binding === 'JSONRPC' }]
  })
  const [first, ...others] = selected
  if (first !== undefined) return [first, ...others]
  const offered = supportedInterfaces
    .map((agentInterface) => `${agentInterface.protocolBinding} ${agentInterface.protocolVersion}`)
    .join(', ')
  throw new A2AError(
    'VERSION_NOT_SUPPORTED',
    `${name} offers ${offered || 'no interface'}; this client speaks ${bindings.join(' and ')} of A2A ${versions.join(' and ')}`,
    { version: offered, supported: versions },
  )
}

/** Moves the interfaces of a card to the origin of `cardUrl`. Each keeps its path and its query. */
export function atOriginOf(cardUrl: string, card: AgentCard): AgentCard {
  const supportedInterfaces = card.supportedInterfaces.map((agentInterface) => {
    const moved = new URL(cardUrl)
    // A URL that does not parse has no path of its own.
    const { pathname, search } = parseUrl(agentInterface.url, moved) ?? moved
    // Set one by one: resolved against a URL, a path such as `//other.example/` would be another host.
    moved.pathname = pathname
    moved.search = search
    moved.hash = ''
    return { ...agentInterface, url: moved.href }
  })
  return { ...card, supportedInterfaces }
}

/**
 * Removes the http interfaces of a card that was fetched by https, so that credentials are not sent in the clear.
 *
 * @throws {A2AError} `URL_BLOCKED` if no other is left.
 */
export function withoutPlainHttp(card: AgentCard, url: string): AgentCard {
  if (!/^https:/i.test(url)) return card
  const supportedInterfaces = card.supportedInterfaces.filter(
    (agentInterface) => !/^http:/i.test(agentInterface.url),
  )
  if (supportedInterfaces.length > 0) return { ...card, supportedInterfaces }
  const reason = 'credentials do not go by http to an agent that was found by https'
  throw new A2AError('URL_BLOCKED', `${card.name}: ${reason}`, {
    url: card.supportedInterfaces[0]?.url ?? '',
    reason,
  })
}
