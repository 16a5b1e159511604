# docker-compose.yml runs this with all it needs. Alone, on a database of your own:
#   docker build --tag musette .
#   docker run --init --read-only --tmpfs /tmp --volume musette:/data --env DATABASE_URL --env MUSETTE_BASE_URL musette
# It builds on amd64 and arm64 alike: the base image has both, and no library in it is machine code. For a registry, from a release:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=1.2.0 --tag registry.example/musette:1.2.0 --push .
FROM node:24-bookworm-slim AS base
WORKDIR /app

# dist/ contains the libraries, so the image needs no node_modules. Without the binaries of the embedded Postgres: in a container
# DATABASE_URL names the database.
FROM base AS build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY config ./config
COPY src ./src
RUN npm run build && node config/sbom.mjs --omit=optional > sbom.cdx.json

FROM base
ARG VERSION=unreleased
LABEL org.opencontainers.image.title="musette" \
  org.opencontainers.image.description="Keeps your whole training history in your own Postgres and carries each FIT file to the service exactly once." \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.base.name="docker.io/library/node:24-bookworm-slim"
ENV NODE_ENV=production MUSETTE_DATA_DIR=/data
COPY --from=build /app/sbom.cdx.json ./
COPY --from=build /app/dist ./dist
COPY drizzle ./drizzle
COPY config/example.env ./config/
COPY package.json LICENSE ./
# A new volume takes over owner and mode of the folder it is mounted on. 1000 is the user "node" of the base image.
RUN chmod +x dist/musette.cjs && ln -s /app/dist/musette.cjs /usr/local/bin/musette \
  && install --directory --owner=1000 --group=1000 --mode=700 /data \
  && install --directory --owner=1000 --group=1000 /drop /workouts
EXPOSE 8787
USER 1000:1000
VOLUME /data
STOPSIGNAL SIGTERM
# Each look starts a program of its own, so it is not taken often; the first start may have to wait for the database.
HEALTHCHECK --interval=60s --timeout=15s --start-period=60s --retries=3 CMD ["musette", "healthcheck"]
ENTRYPOINT ["musette"]
CMD ["start"]
