import { FleetBody, FleetExport, FleetPlan } from '../fleet.js';
import { botFilters, list, query } from './parameters.js';
import type { Routes } from './route.js';

const LIMITED = 'The token lacks the scope, or is limited to some bots.';

export const FLEET_ROUTES = {
  'GET /api/fleet': {
    id: 'exportFleet',
    access: 'read',
    query: {
      ...botFilters('Only bots'),
      node: list('Only bots on this node of the cluster.', ['h1']),
      query: query('Only bots', 'status:in_world -label:team=a data.gold<100'),
    },
    tag: 'Bots',
    summary: 'Get bots as a fleet file has them',
    description:
      'As they were configured, without the defaults of their kinds. Applied again, it changes nothing. `drover export` writes a file of it.',
    answers: {
      200: {
        description: 'By id.',
        schema: FleetExport,
        example: {
          bots: [
            {
              id: 'anna',
              kind: 'irc',
              config: { host: 'irc.example', password: { $env: 'ANNA_PASSWORD' } },
            },
          ],
          variables: ['ANNA_PASSWORD'],
          fleets: ['web'],
        },
      },
    },
  },
  'POST /api/fleet/{name}': {
    id: 'applyFleet',
    access: 'control',
    activity: 'fleet.apply',
    tag: 'Bots',
    summary: 'Bring bots to what a fleet file says',
    description: [
      'Creates bots that do not exist, and changes those that differ. A bot belongs to one fleet; one that belongs to none is adopted. With `prune`, bots of the fleet that are not in the body are deleted.',
      'Everything is validated first: if anything is refused, nothing is changed, and the error says why. A dry run answers with what would be done, and with each refusal. `drover apply` reads a file and calls this.',
      'The token must not be limited to some bots, and the service must not be a node of a cluster.',
    ].join('\n\n'),
    body: {
      schema: FleetBody,
      maxBytes: 16_777_216,
      example: {
        bots: [{ id: 'load-1', kind: 'synthetic', config: { events_per_second: 2 } }],
        prune: true,
        dry_run: true,
      },
    },
    answers: {
      200: {
        description:
          'What was done, or would be. A bot with `error` could not be changed; the others were.',
        schema: FleetPlan,
        example: {
          fleet: 'web',
          steps: [
            {
              id: 'load-1',
              kind: 'synthetic',
              action: 'change',
              changes: { 'config.events_per_second': { from: 1, to: 2 } },
            },
          ],
          unchanged: 0,
          unlisted: [],
        },
      },
    },
    errors: {
      400: 'The body is not valid.',
      403: LIMITED,
      409: 'A bot belongs to another fleet, its configuration is not valid, or another fleet is being applied; in a cluster always.',
      503: 'The service is under pressure.',
    },
  },
} satisfies Routes;
