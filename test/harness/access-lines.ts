import type { Service } from './service.js';

const LINE =
  /^(\d{4}-\d\d-\d\dT[\d:.]+Z) ([\d.:a-f]+) (-|[0-9a-f-]{36}) ([A-Z]+) (\S+) (\d{3}) \d+\.\dms https?$/;

/** The lines of the access log so far. */
export const accessLines = (service: Service): string[] =>
  service
    .stdout()
    .split('\n')
    .filter((line) => LINE.test(line));

/** `method target status` of each line. */
export const accessTargets = (service: Service): string[] =>
  accessLines(service).map((line) => {
    const [, , , , method, target, status] = LINE.exec(line) ?? [];
    return `${method} ${target} ${status}`;
  });
