const core = require('a2a-tasks')
const client = require('a2a-tasks/client')
const server = require('a2a-tasks/server')
const node = require('a2a-tasks/server/node')
const testing = require('a2a-tasks/testing')

import('./smoke-life.mjs')
  .then(({ live }) => live({ core, client, server, node, testing }))
  .then((result) => console.log('require:', result))
