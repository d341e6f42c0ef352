# Drover in a container; docs/OPERATIONS.md says how to run it. Set a digest to pin the base image.
ARG NODE_IMAGE=node:22-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
# The published package, then exactly the dependencies of the lock file, without development dependencies.
RUN npm pack --pack-destination /tmp
WORKDIR /app
RUN tar -xzf /tmp/drover-*.tgz --strip-components=1 \
  && cp /src/package-lock.json /src/.npmrc ./ \
  && npm ci --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
ENV NODE_ENV=production DROVER_DATA_DIR=/data
COPY --from=build /app /app
COPY docker/healthcheck.mjs /app/healthcheck.mjs
RUN install -d -o node -g node -m 700 /data
USER node
WORKDIR /data
VOLUME /data
EXPOSE 8090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "/app/healthcheck.mjs"]
# Run it with --init: as process 1 the service does not reap the processes that bots leave behind.
ENTRYPOINT ["node", "/app/dist/src/cli/main.js"]
CMD ["start"]
