import { HostList } from '../hosts.js';
import type { JsonObject } from '../json.js';
import { PressureReport } from '../pressure.js';
import { MAX_RUN_BYTES, MAX_RUN_FILES, RunList } from '../runs.js';
import Type from '../typebox.js';
import { exampleOf } from './examples.js';
import { integerWithDefault } from './parameters.js';
import type { Routes } from './route.js';

export const SERVICE_ROUTES = {
  'GET /': {
    id: 'dashboard',
    access: 'nothing',
    takesAnyQuery: true,
    tag: 'Service',
    summary: 'Dashboard page',
    answers: {
      200: {
        description: 'A page.',
        type: 'text/html; charset=utf-8',
        schema: Type.String(),
        headers: { ETag: 'Of this content.' },
      },
      304: { description: '`If-None-Match` matches the ETag.' },
    },
    errors: { 404: 'The dashboard is not built.' },
  },
  'GET /assets/{file}': {
    id: 'dashboardFile',
    access: 'nothing',
    takesAnyQuery: true,
    tag: 'Service',
    summary: 'Dashboard file',
    description: 'The name contains a hash of the content, so a file never changes.',
    answers: {
      200: {
        description: 'The file.',
        type: 'text/javascript; charset=utf-8',
        schema: Type.String(),
        more: { 'text/css; charset=utf-8': Type.String(), 'image/svg+xml': Type.String() },
        headers: { ETag: 'Of this content.' },
      },
      304: { description: '`If-None-Match` matches the ETag.' },
    },
    errors: { 404: 'No such file.' },
  },
  'GET /health': {
    id: 'health',
    access: 'nothing',
    takesAnyQuery: true,
    tag: 'Service',
    summary: 'Liveness check',
    description: 'For monitors and load balancers.',
    answers: {
      200: {
        description: 'The service is alive.',
        type: 'text/plain',
        schema: Type.Literal('ok'),
        example: 'ok',
      },
    },
  },
  'GET /ready': {
    id: 'ready',
    access: 'nothing',
    takesAnyQuery: true,
    tag: 'Service',
    summary: 'Readiness check',
    description:
      'For load balancers: whether requests are to be sent to this service. A node of a cluster is not ready before it has joined, and while it is cut off.',
    answers: {
      200: {
        description: 'Send requests.',
        schema: Type.Object({ status: Type.Literal('ready') }),
        example: { status: 'ready' },
      },
    },
    errors: {
      503: 'Send them to another one: the service is stopping, its node has not joined the cluster or is cut off from it, or main does not answer. `message` says which.',
    },
  },
  'GET /openapi.json': {
    id: 'openapi',
    access: 'nothing',
    takesAnyQuery: true,
    tag: 'Service',
    summary: 'OpenAPI document',
    description:
      '`x-needs` of an operation is the scope that it needs. `x-events` of the stream has the schema of `data` for each `event:`.',
    answers: {
      200: {
        description: 'OpenAPI 3.1.',
        schema: Type.Object(
          {
            openapi: Type.String({ pattern: '^3\\.1\\.' }),
            info: Type.Unsafe<JsonObject>({ type: 'object' }),
            paths: Type.Unsafe<JsonObject>({ type: 'object' }),
          },
          { additionalProperties: true },
        ),
        headers: { ETag: 'Of this content.' },
      },
      304: { description: '`If-None-Match` matches the ETag.' },
    },
  },
  'GET /docs': {
    id: 'docs',
    access: 'nothing',
    takesAnyQuery: true,
    tag: 'Service',
    summary: 'API documentation',
    answers: {
      200: {
        description: 'A single page without scripts or external files.',
        type: 'text/html; charset=utf-8',
        schema: Type.String(),
        headers: { ETag: 'Of this content.' },
      },
      304: { description: '`If-None-Match` matches the ETag.' },
    },
  },
  'GET /api/runs': {
    id: 'listRuns',
    access: 'read',
    tag: 'Service',
    summary: 'List files of runs',
    description:
      'Recordings of `drover record` and reports of `drover check` in the directory `runs` of the data directory. The service only reads them. Not available to tokens that are limited to bots (403). In a cluster those of the node that answers.',
    answers: {
      200: {
        description: `The latest first, at most ${MAX_RUN_FILES}.`,
        schema: RunList,
        example: exampleOf(RunList),
      },
    },
  },
  'GET /api/runs/{name}': {
    id: 'readRun',
    access: 'read',
    query: {
      from: integerWithDefault('Where to begin, in bytes.', { minimum: 0, default: 0 }),
    },
    tag: 'Service',
    summary: 'Read a file of a run',
    description: `A part of the file, at most ${MAX_RUN_BYTES / 1024 / 1024} MB: ask again from its end, until an answer is empty.`,
    answers: {
      200: {
        description: 'The bytes from `from` on; none at the end of the file.',
        type: 'application/octet-stream',
        schema: Type.String(),
        example:
          '{"at_ms":1795257586197,"event":"gap","id":null,"data":{"from":"e-1","to":"e-9","dropped":7}}\n',
      },
    },
    errors: { 404: 'There is no such file.' },
  },
  'GET /api/hosts': {
    id: 'listHosts',
    access: 'read',
    tag: 'Service',
    summary: 'List bot hosts',
    description:
      'State, heartbeat, load and memory of each bot host, read without asking the hosts: one that hangs keeps nobody waiting. A token that is limited to bots sees the hosts of its bots. In a cluster the hosts of all nodes that answer within 0.8 s.',
    answers: {
      200: { description: 'By node and number.', schema: HostList, example: exampleOf(HostList) },
    },
  },
  'GET /api/pressure': {
    id: 'pressure',
    access: 'read',
    tag: 'Service',
    summary: 'Pressure report',
    answers: {
      200: {
        description: 'No resource is short.',
        schema: PressureReport,
        example: exampleOf(PressureReport),
      },
      503: {
        description:
          'A resource is short: new streams or bots are refused, existing ones continue. The body is a report, or an error when the service cannot produce one.',
        schema: PressureReport,
      },
    },
  },
  'GET /metrics': {
    id: 'metrics',
    access: 'read',
    takesAnyQuery: true,
    tag: 'Service',
    summary: 'Prometheus metrics',
    description:
      'Prometheus text format; docs/METRICS.md lists the metrics. Configure the token in Prometheus with `authorization: {credentials_file: …}`. Not available to tokens that are limited to bots (403).',
    answers: {
      200: {
        description: 'All metrics.',
        type: 'text/plain; version=0.0.4; charset=utf-8',
        schema: Type.String(),
        example:
          '# HELP drover_bots Bots, by kind and status.\n# TYPE drover_bots gauge\ndrover_bots{kind="demo",status="in_world"} 3\n',
      },
    },
  },
} satisfies Routes;
