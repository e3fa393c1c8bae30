/**
 * The default DNS and `fetch` of push notifications, made of Node's modules where the runtime has them.
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

/** Resolves names by the runtime's DNS; `undefined` where it has none. */
export function lookUp(): Resolve | undefined {
  // `builtin` returns the module with this name, or undefined.
  const dns = builtin('node:dns/promises') as Dns | undefined
  return dns && resolveWith(dns)
}

/** Connects only to addresses that were checked; `undefined` where the runtime lacks the modules. */
export function pushFetch(
  allow: readonly string[] | undefined,
  resolve: Resolve,
): ReturnType<typeof toPinnedFetch> | undefined {
  // Its `node:http` cannot choose the address, and its own fetch reaches the public network only.
  if (isCloudflareWorker()) return undefined
  // `builtin` returns the modules with these names, or undefined.
  const http = builtin('node:http') as NodeModules['http'] | undefined
  const https = builtin('node:https') as NodeModules['https'] | undefined
  const net = builtin('node:net') as NodeModules['net'] | undefined
  if (http === undefined || https === undefined || net === undefined) return undefined
  return toPinnedFetch({ node: { http, https, net }, allow, resolve })
}
