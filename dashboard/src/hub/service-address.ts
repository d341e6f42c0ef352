// Runs in tabs. The address of the service is that of the directory with the page: a proxy may have put it under a path.

/** The service's address, without a trailing slash. */
export function serviceUrl(): string {
  return new URL('.', location.href).href.replace(/\/$/, '');
}

/** A name for what all pages of an origin share. Other paths of the origin may belong to other services. */
export function ownName(name: string): string {
  return name + new URL(serviceUrl()).pathname.replace(/\/$/, '');
}
