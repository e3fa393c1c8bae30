import * as core from 'a2a-tasks'
import * as client from 'a2a-tasks/client'
import * as gateway from 'a2a-tasks/gateway'
import * as server from 'a2a-tasks/server'
import * as node from 'a2a-tasks/server/node'
import * as telemetry from 'a2a-tasks/telemetry'
import * as testing from 'a2a-tasks/testing'
import { live } from './smoke-life.mjs'

console.log('import:', await live({ core, client, gateway, server, node, telemetry, testing }))
