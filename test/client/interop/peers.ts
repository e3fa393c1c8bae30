/** All peers of the interoperability tests. */
import { PEER_NAMES } from './gaps.js'
import { ownPeer } from './own.js'
import { legacyPeer } from './sdk-legacy.js'
import { modernPeer } from './sdk-modern.js'
import type { Peer } from './support/agent.js'

export const PEERS: readonly Peer[] = (['JSONRPC', 'HTTP+JSON'] as const)
  .flatMap((binding) => [
    modernPeer('1.0', binding),
    modernPeer('0.3', binding),
    legacyPeer(binding),
    ownPeer('1.0', binding),
    ownPeer('0.3', binding),
  ])
  .sort((a, b) => PEER_NAMES.indexOf(a.name) - PEER_NAMES.indexOf(b.name))
