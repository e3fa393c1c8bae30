/**
 * What push notifications are sent with where nobody says: Node's modules, where the runtime has them.
 *
 * @module
 */
import {
  resolveWith,
  toPinnedFetch,
  type Dns,
  type NodeModules,
  type Resolve,
} from '../../http/pinned-fetch.js'
import { builtin, isCloudflareWorker } from '../../runtime/environment.js'

/** The DNS of the runtime, where it has one. */
export function lookUp(): Resolve | undefined {
  // The module that it is called for, or none.
  const dns = builtin('node:dns/promises') as Dns | undefined
  return dns && resolveWith(dns)
}

/** Connects to addresses that were checked, and to no others; nothing where the runtime lacks what it is made of. */
export function pushFetch(
  allow: readonly string[] | undefined,
  resolve: Resolve,
): ReturnType<typeof toPinnedFetch> | undefined {
  // Its `node:http` does not let one choose the address, and its own fetch reaches no network but the public one.
  if (isCloudflareWorker()) return undefined
  // The modules that they are called for, or none.
  const http = builtin('node:http') as NodeModules['http'] | undefined
  const https = builtin('node:https') as NodeModules['https'] | undefined
  const net = builtin('node:net') as NodeModules['net'] | undefined
  if (http === undefined || https === undefined || net === undefined) return undefined
  return toPinnedFetch({ node: { http, https, net }, allow, resolve })
}
